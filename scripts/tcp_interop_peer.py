#!/usr/bin/env python3
"""The kernel's end of one connection of scripts/tcp-interop.sh: a plain socket.

connect|listen ADDRESS PORT    sends standard input and closes its side, writes what comes to standard output.
At the end it tells on standard error what was seen, as our end does: how it ended, seconds from the handshake to
the last byte received, retransmissions (TCP_INFO).
"""
import socket
import struct
import sys
import threading
import time

TCP_INFO_TOTAL_RETRANS = 100
CHUNK = 1 << 18
TIMEOUT = 60


def opened(role, address):
    end = socket.socket()
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    end.settimeout(TIMEOUT)
    if role == "connect":
        end.connect(address)
        return end
    end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with end:
        end.bind(address)
        end.listen()
        connection, _ = end.accept()
    connection.settimeout(TIMEOUT)
    return connection


def send(connection):
    try:
        while data := sys.stdin.buffer.read(CHUNK):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # The receiving side tells.


def receive(connection):
    last = time.monotonic()
    while data := connection.recv(CHUNK):
        last = time.monotonic()
        sys.stdout.buffer.write(data)
    return last


def main():
    role, address, port = sys.argv[1:]
    connection = opened(role, (address, int(port)))
    start = last = time.monotonic()
    sender = threading.Thread(target=send, args=(connection,))
    sender.start()
    try:
        last, ended = receive(connection), "Closed"
    except OSError as error:
        ended = type(error).__name__
    sender.join()
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_TOTAL_RETRANS + 4)
    (retransmissions,) = struct.unpack_from("=I", info, TCP_INFO_TOTAL_RETRANS)
    connection.close()
    print(f"ended={ended} seconds={last - start:.3f} retransmissions={retransmissions}", file=sys.stderr)


main()
