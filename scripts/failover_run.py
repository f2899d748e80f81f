#!/usr/bin/env python3
"""The streams of scripts/failover.sh, and what became of them when a path was cut.

run PREFIX KIND LINK CUT RESTORE HOME SERVER FILE   one run, exit 3 when it
                                                    does not count; HOME and SERVER are control sockets
summary FILE                                        prints the median and the worst of each kind
header                                              prints the head of the table
udp-send FROM TO SECONDS | udp-receive AT SECONDS | tcp-send TO SECONDS | tcp-receive AT
                                                    one end of one stream; prints JSON
"""
import hashlib
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import time

HOME, SERVER = "10.99.0.1", "10.99.0.2"
UDP_PORT, TCP_PORT = 7001, 7002
INTERVAL = 0.005
WARM_UP, OUTAGE, AFTER = 3.0, 4.0, 4.0
GAP_MAX = {"carrier": 0.150, "silent": 0.500}
BACK_MAX = 2.0
# A sender that was held up longer than this makes gaps itself.
STALL_MAX = 0.010
SO_TIMESTAMPNS = 35
COLUMNS = ("cut", "link", "gap >", "gap <", "lost >", "lost <", "left >", "left <",
           "up >", "up <", "used >", "TCP MB", "stall", "contents", "verdict")


def line(cells):
    widths = (8, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 9, 8)
    print(" ".join(str(cell).rjust(width) for cell, width in zip(cells, widths)), flush=True)


def precise():
    """A sender that the machine's other work does not hold up."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except (PermissionError, OSError):
        pass


def udp_send(local, remote, seconds):
    precise()
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.bind((local, 0))
    start = time.monotonic()
    sent, stall, last, number = [], 0.0, None, 0
    while number * INTERVAL < seconds:
        wait = start + number * INTERVAL - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        now = time.time()
        out.sendto(struct.pack("!I", number) + bytes(96), (remote, UDP_PORT))
        stall = max(stall, 0.0 if last is None else now - last)
        last = now
        sent.append(now)
        number += 1
    print(json.dumps({"sent": len(sent), "stall": stall}))


def udp_receive(local, seconds):
    inward = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    inward.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    inward.bind((local, UDP_PORT))
    inward.settimeout(0.2)
    times, numbers, end = [], set(), time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            data, told, _, _ = inward.recvmsg(200, 64)
        except TimeoutError:
            continue
        whole, nanos = struct.unpack("qq", told[0][2])
        times.append(whole + nanos / 1e9)
        numbers.add(struct.unpack("!I", data[:4])[0])
    print(json.dumps({"times": times, "numbers": sorted(numbers)}))


def pattern(offset, size):
    return b"".join(struct.pack("!Q", (offset + at) // 8 * 0x9E3779B97F4A7C15 % 2**64) for at in range(0, size, 8))


def tcp_send(remote, seconds):
    out = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    out.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    out.connect((remote, TCP_PORT))
    digest, total, end = hashlib.sha256(), 0, time.monotonic() + seconds
    blocks = [pattern(at, 65536) for at in range(0, 65536 * 16, 65536)]
    while time.monotonic() < end:
        block = blocks[total // 65536 % 16]
        out.sendall(block)
        digest.update(block)
        total += len(block)
    out.shutdown(socket.SHUT_WR)
    answer = out.recv(1)
    print(json.dumps({"bytes": total, "digest": digest.hexdigest(), "closed": answer == b"."}))


def tcp_receive(local):
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((local, TCP_PORT))
    listener.listen()
    connection, _ = listener.accept()
    digest, total, stall, last = hashlib.sha256(), 0, 0.0, time.monotonic()
    while data := connection.recv(1 << 18):
        now = time.monotonic()
        digest.update(data)
        total += len(data)
        stall, last = max(stall, now - last), now
    connection.sendall(b".")
    print(json.dumps({"bytes": total, "digest": digest.hexdigest(), "stall": stall}))


class Control:
    """A running bond's control socket."""

    def __init__(self, path, member):
        self.member = member
        self.stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.stream.connect(path)
        self.lines = self.stream.makefile("rb")

    def look(self):
        """Whether the member that is cut is up, and the packets committed to it until now."""
        self.stream.sendall(b'{"request":"show"}\n')
        report = json.loads(self.lines.readline())["result"]
        [member] = [s for s in report["slaves"] if s["slave_interface"] == self.member]
        return member["mii_status"] == "up", member["tx_packets"]


def watch(controls, until, samples):
    """Notes what both ends say of the member, every 10 ms."""
    while time.time() < until:
        samples.append((time.time(), [control.look() for control in controls]))
        time.sleep(0.01)


def command(text):
    subprocess.run(["bash", "-c", text], check=True, timeout=5)
    return time.time()


def spawn(prefix, end, *words):
    program = ["ip", "netns", "exec", f"{prefix}-{end}", sys.executable, __file__, *map(str, words)]
    return subprocess.Popen(program, stdout=subprocess.PIPE)


def heard(process):
    out, _ = process.communicate(timeout=60)
    return json.loads(out) if process.returncode == 0 else None


def first(samples, start, is_so):
    """How long after a time two looks in a row first showed something."""
    after = [sample for sample in samples if sample[0] >= start]
    found = (at for (_, before), (at, now) in zip(after, after[1:]) if is_so(before, now))
    return next((at - start for at in found), None)


def without(samples, start, end, side):
    """How long after the cut the member was still given packets; not at all when it was not in use."""
    span = [(at, seen[side][1]) for at, seen in samples if start - 0.1 <= at <= end]
    last = [at for (_, before), (at, now) in zip(span, span[1:]) if now > before]
    return max(last[-1] - start, 0.0) if last else 0.0


def run(prefix, kind, link, cut, restore, home, server, file):
    controls = [Control(path, f"link{link}") for path in (home, server)]
    seconds = WARM_UP + OUTAGE + AFTER
    receivers = [spawn(prefix, "server", "udp-receive", SERVER, seconds + 2),
                 spawn(prefix, "home", "udp-receive", HOME, seconds + 2)]
    taker = spawn(prefix, "server", "tcp-receive", SERVER)
    time.sleep(0.7)
    senders = [spawn(prefix, "home", "udp-send", HOME, SERVER, seconds),
               spawn(prefix, "server", "udp-send", SERVER, HOME, seconds)]
    giver = spawn(prefix, "home", "tcp-send", SERVER, seconds)
    samples, start = [], time.time()
    watch(controls, start + WARM_UP, samples)
    cut_at = command(cut)
    watch(controls, cut_at + OUTAGE, samples)
    back_at = command(restore)
    watch(controls, back_at + AFTER, samples)
    sent, received = [heard(p) for p in senders], [heard(p) for p in receivers]
    gave, took = heard(giver), heard(taker)
    row = {"kind": kind, "link": link, "gap": [], "lost": [], "left": [], "up": []}
    for side in (0, 1):
        times = sorted(received[side]["times"])
        row["gap"].append(max(b - a for a, b in zip(times, times[1:])))
        row["lost"].append(sent[side]["sent"] - len(received[side]["numbers"]))
        row["left"].append(without(samples, cut_at, back_at, side))
        row["up"].append(first(samples, back_at, lambda before, now: now[side][0]))
    row["used"] = first(samples, back_at, lambda before, now: now[0][1] > before[0][1])
    row["stall"] = max(one["stall"] for one in sent)
    equal = bool(gave and took and gave["closed"] and gave["digest"] == took["digest"])
    row |= {"equal": equal, "bytes": took["bytes"] if took else 0, "tcp_stall": took["stall"] if took else None}
    with open(file, "a") as out:
        out.write(json.dumps(row) + "\n")
    line(cells(row, link))
    sys.exit(3 if verdict(row) == "stalled" else 0)


def millis(seconds):
    return "never" if seconds is None else f"{seconds * 1e3:.0f}"


def verdict(row):
    good = (max(row["gap"]) <= GAP_MAX[row["kind"]] and row["equal"]
            and None not in [row["used"], *row["up"]] and max(row["used"], *row["up"]) <= BACK_MAX)
    if good:
        return "ok"
    return "stalled" if row["stall"] > STALL_MAX else "MISSED"


def cells(row, label):
    return [row["kind"], label, *map(millis, row["gap"]), *row["lost"], *map(millis, row["left"]),
            *map(millis, row["up"]), millis(row["used"]), f"{row['bytes'] / 1e6:.1f}", millis(row["tcp_stall"]),
            "equal" if row["equal"] else "DIFFER", verdict(row)]


def chosen(choose, values):
    """None, which is worse than any number, only where choosing comes to it."""
    ordered = [float("inf") if value is None else value for value in values]
    result = choose(ordered)
    return None if result == float("inf") else result


def summary(file):
    with open(file) as lines:
        rows = [json.loads(text) for text in lines]
    missed = False
    for kind in GAP_MAX:
        counted = [row for row in rows if row["kind"] == kind and verdict(row) != "stalled"]
        missed |= not counted or any(verdict(row) == "MISSED" for row in counted)
        for label, choose in (("median", statistics.median), ("worst", max)):
            def both(key):
                return [chosen(choose, [row[key][side] for row in counted]) for side in (0, 1)]
            if counted:
                line(cells({
                    "kind": kind, "lost": [round(count) for count in both("lost")],
                    "gap": both("gap"), "left": both("left"), "up": both("up"),
                    "used": chosen(choose, [row["used"] for row in counted]), "stall": 0.0,
                    "bytes": (min if choose is max else choose)([row["bytes"] for row in counted]),
                    "tcp_stall": chosen(choose, [row["tcp_stall"] for row in counted]),
                    "equal": all(row["equal"] for row in counted),
                }, label))
    sys.exit(1 if missed else 0)


def main(words):
    match words:
        case ["run", *rest]:
            run(*rest)
        case ["summary", file]:
            summary(file)
        case ["header"]:
            line(COLUMNS)
        case ["udp-send", local, remote, seconds]:
            udp_send(local, remote, float(seconds))
        case ["udp-receive", local, seconds]:
            udp_receive(local, float(seconds))
        case ["tcp-send", remote, seconds]:
            tcp_send(remote, float(seconds))
        case ["tcp-receive", local]:
            tcp_receive(local)
        case _:
            sys.exit(__doc__)


main(sys.argv[1:])
