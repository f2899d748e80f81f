#!/usr/bin/env python3
"""A bulk transfer over the kernel's MPTCP (RFC 8684), to compare with: iperf3 speaks it in newer versions only.

serve PORT                      takes one connection after the other and answers what each client asked
send ADDRESS PORT OMIT SECONDS  sends with cubic and prints the goodput at the receiver in Mbit/s, the first
                                OMIT seconds not counted
"""
import socket
import struct
import sys
import time

MPTCP = 262
CHUNK = bytes(128 * 1024)
REQUEST = struct.Struct("!dd")
ANSWER = struct.Struct("!d")


def open_socket():
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    return opened


def read_exactly(connection, count):
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise ConnectionError("the peer closed")
        data += part
    return data


def receive(connection):
    omit, seconds = REQUEST.unpack(read_exactly(connection, REQUEST.size))
    start = time.monotonic()
    counted, buffer = 0, bytearray(256 * 1024)
    while count := connection.recv_into(buffer):
        since = time.monotonic() - start
        if omit <= since < omit + seconds:
            counted += count
    connection.sendall(ANSWER.pack(counted * 8 / seconds / 1e6))


def serve(port):
    listener = open_socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Subflows come in at every address.
    listener.bind(("", port))
    listener.listen()
    while True:
        connection, _ = listener.accept()
        try:
            receive(connection)
        except OSError as error:
            print(f"mptcp: {error}", file=sys.stderr)
        connection.close()


def send(address, port, omit, seconds):
    connection = open_socket()
    connection.settimeout(60)
    connection.connect((address, port))
    connection.sendall(REQUEST.pack(omit, seconds))
    end = time.monotonic() + omit + seconds
    while time.monotonic() < end:
        connection.sendall(CHUNK)
    connection.shutdown(socket.SHUT_WR)
    print(ANSWER.unpack(read_exactly(connection, ANSWER.size))[0])


match sys.argv[1:]:
    case ["serve", port]:
        serve(int(port))
    case ["send", address, port, omit, seconds]:
        send(address, int(port), float(omit), float(seconds))
    case _:
        sys.exit(__doc__)
