#!/usr/bin/env python3
"""The kernel's end of one connection of scripts/tcp-interop.sh and tcp-array.sh: a plain socket.

connect|listen ADDRESS PORT [CC]   sends standard input and closes its side, writes what comes to standard output.
At the end it tells on standard error what was seen, as our end does: how it ended, seconds from the handshake to
the last byte received, and from TCP_INFO retransmissions, what of ECN was agreed on and seen, and how many packets
the peer has reported as marked.
"""
import socket
import struct
import sys
import threading
import time

# Places in struct tcp_info (linux/tcp.h).
TCP_INFO_OPTIONS = 5
TCP_INFO_TOTAL_RETRANS = 100
TCP_INFO_DELIVERED_CE = 196
TCPI_OPT_ECN, TCPI_OPT_ECN_SEEN = 8, 16
CHUNK = 1 << 18
TIMEOUT = 60


def opened(role, address, cc):
    end = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
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


def ecn(options):
    """As `ss -ti` says it."""
    if not options & TCPI_OPT_ECN:
        return "-"
    return "ecnseen" if options & TCPI_OPT_ECN_SEEN else "ecn"


def main():
    role, address, port, *cc = sys.argv[1:]
    connection = opened(role, (address, int(port)), *cc or ["cubic"])
    start = last = time.monotonic()
    sender = threading.Thread(target=send, args=(connection,))
    sender.start()
    try:
        last, ended = receive(connection), "Closed"
    except OSError as error:
        ended = type(error).__name__
    sender.join()
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_DELIVERED_CE + 4)
    (retransmissions,) = struct.unpack_from("=I", info, TCP_INFO_TOTAL_RETRANS)
    (delivered_ce,) = struct.unpack_from("=I", info, TCP_INFO_DELIVERED_CE)
    connection.close()
    print(f"ended={ended} seconds={last - start:.3f} retransmissions={retransmissions} "
          f"ecn={ecn(info[TCP_INFO_OPTIONS])} delivered_ce={delivered_ce}", file=sys.stderr)


main()
