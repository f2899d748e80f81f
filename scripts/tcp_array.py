#!/usr/bin/env python3
"""Runs the cases of scripts/tcp-array.sh, which explains them and checks the options."""
import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import tcp_array_cases

SCRIPTS = os.path.dirname(os.path.abspath(__file__))
RELEASE = os.path.join(SCRIPTS, "../target/release")
TCP_TUN = os.environ.get("TCP_TUN", f"{RELEASE}/examples/tcp_tun")
PORT = 7000
PATIENCE = 60
GOODPUT_MIN = 0.9
# DCTCP begins with 1 and keeps 15/16 of it with every window that has no mark.
ALPHA_FADED = 0.1
# Where losses are many a window is small: a fifth of the bytes takes as long.
LOSSY = {0: 1, 0.1: 1, 1: 0.5, 5: 0.1}
COLUMNS = (("case", 4), ("sender", 12), ("receiver", 12), ("opens", 8), ("ip", 2), ("ECN", 5), ("loss", 5),
           ("late", 4), ("MTU", 5), ("bytes", 8), ("Mbit/s", 7), ("of kernel", 9), ("resent", 6), ("kernel", 7),
           ("marks", 5), ("ce", 5), ("equal", 5), ("closed", 6), ("verdict", 7))


class Testbed:
    """Two namespaces with an emulated link, held by netns.sh until its input ends."""

    def __init__(self, rate, delay):
        command = ["bash", f"{SCRIPTS}/netns.sh", "hold", "1"]
        self.script = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.prefix = self.script.stdout.readline().split()[1]
        for device in ("a", "b"):
            self.ip("mid1", f"link set dev {device} mtu 9000")
        self.ask(f"emulate 1 --rate {rate} --delay {delay}ms --queue 50ms --reorder-delay 8ms")
        for end in ("home", "server"):
            self.sysctl(end, "net.ipv4.tcp_no_metrics_save=1")
        self.sysctl("home", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        self.sysctl("server", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")

    def close(self):
        self.script.stdin.close()
        self.script.wait()

    def ask(self, line):
        self.script.stdin.write(line + "\n")
        self.script.stdin.flush()
        answer = self.script.stdout.readline().strip()
        if not answer or answer.startswith("ERROR"):
            sys.exit(f"tcp-array: {line}: {answer or 'the testbed ended'}")
        return answer

    def report(self):
        return json.loads(self.ask("report 1"))

    def inside(self, end):
        return ["ip", "netns", "exec", f"{self.prefix}-{end}"]

    def ip(self, end, words):
        subprocess.run(["ip", "-n", f"{self.prefix}-{end}", *words.split()], check=True)

    def sysctl(self, end, *settings):
        subprocess.run([*self.inside(end), "sysctl", "-qw", *settings], check=True)

    def resets(self):
        total = 0
        for end in ("home", "server"):
            snmp = subprocess.run([*self.inside(end), "cat", "/proc/net/snmp"], capture_output=True, text=True)
            names, values = (row.split() for row in snmp.stdout.splitlines() if row.startswith("Tcp:"))
            total += int(dict(zip(names, values))["EstabResets"])
        return total

    def prepare(self, case):
        """The link and the kernels as a case wants them."""
        mark = "5ms" if case["ecn"] == "marks" else "none"
        self.ask(f"command 1 set --loss {case['loss']}% --reorder {case['reorder']}% --mark {mark}")
        for end, host in (("home", 1), ("server", 2)):
            self.ip(end, f"link set dev path1 mtu {case['mtu']}")
            self.sysctl(end, f"net.ipv4.tcp_ecn={0 if case['ecn'] == 'off' else 1}")
            if case["mtu"] >= 1280:
                # A device with a smaller MTU loses its IPv6 addresses, and the routes over them.
                self.ip(end, f"address replace fd77:1::{host}/64 dev path1 nodad")
                self.ip(end, f"route replace {OURS[other(end)][6]}/126 via {KERNELS[other(end)][6]}")
            self.ip(end, f"route replace {OURS[other(end)][4]}/30 via {KERNELS[other(end)][4]}")


def other(end):
    return "server" if end == "home" else "home"


# The kernels' addresses, and those of the networks between them and our hosts.
KERNELS = {"home": {4: "10.77.1.1", 6: "fd77:1::1"}, "server": {4: "10.77.1.2", 6: "fd77:1::2"}}
OURS = {"home": {4: "10.78.0.0", 6: "fd78::"}, "server": {4: "10.79.0.0", 6: "fd79::"}}


def neighbour(end, ip, last):
    """An address of the network between a kernel and our host."""
    network = OURS[end][ip]
    return network[:-1] + str(last) if ip == 4 else network + str(last)


class End:
    """One end of one connection: which TCP, with what, where."""

    def __init__(self, where, side, cc):
        self.where, self.side, self.cc = where, side, cc

    def address(self, ip):
        return neighbour(self.where, ip, 2) if self.side == "ours" else KERNELS[self.where][ip]

    def command(self, role, peer, case):
        ip = case["ip"]
        if self.side == "kernel":
            at = peer.address(ip) if role == "connect" else self.address(ip)
            return ["python3", f"{SCRIPTS}/tcp_interop_peer.py", role, at, str(PORT), self.cc]
        at = f"[{peer.address(ip)}]:{PORT}" if ip == 6 else f"{peer.address(ip)}:{PORT}"
        prefix = 30 if ip == 4 else 126
        return [TCP_TUN, role, at if role == "connect" else str(PORT), "--cc", self.cc,
                "--mtu", str(case["mtu"]), "--ecn", "off" if case["ecn"] == "off" else "on",
                "--device", f"tcp-{self.where}", "--kernel", f"{neighbour(self.where, ip, 1)}/{prefix}",
                "--address", neighbour(self.where, ip, 2)]

    def is_listening(self, testbed):
        if self.side == "ours":
            words = ["ip", "link", "show", "dev", f"tcp-{self.where}", "up"]
        else:
            words = ["ss", "-Hltn", f"sport = :{PORT}"]
        shown = subprocess.run([*testbed.inside(self.where), *words], capture_output=True, text=True)
        return bool(shown.stdout)


def wait_until_listening(testbed, end):
    for _ in range(250):
        if end.is_listening(testbed):
            return
        time.sleep(0.02)
    sys.exit("tcp-array: nobody listens")


class Run:
    """One transfer from one end to the other."""

    def __init__(self, testbed, folder, case, sender, receiver, size):
        pattern = hashlib.shake_128(str(case).encode()).digest(size)
        with open(f"{folder}/sent", "wb") as file:
            file.write(pattern)
        opener, listener = (sender, receiver) if case["opens"] == "sender" else (receiver, sender)
        testbed.ask("command 1 reset")
        before = testbed.resets()
        started = []
        for end, role, peer in ((listener, "listen", opener), (opener, "connect", listener)):
            words = ["timeout", str(PATIENCE), *testbed.inside(end.where), *end.command(role, peer, case)]
            name = "sender" if end is sender else "receiver"
            source = open(f"{folder}/sent", "rb") if end is sender else subprocess.DEVNULL
            started.append((name, subprocess.Popen(words, stdin=source, stdout=open(f"{folder}/{name}.out", "wb"),
                                                   stderr=subprocess.PIPE, text=True)))
            if end is listener:
                wait_until_listening(testbed, end)
        self.told = {name: words_of(process.communicate()[1]) for name, process in started}
        self.report = testbed.report()
        self.equal = open(f"{folder}/receiver.out", "rb").read() == pattern
        ended = [told.get("ended") for told in self.told.values()]
        self.closed = ended == ["Closed", "Closed"] and testbed.resets() == before
        seconds = float(self.told["receiver"].get("seconds", "nan"))
        self.goodput = size * 8 / seconds / 1e6 if seconds > 0 else 0.0
        self.resent = int(self.told["sender"].get("retransmissions", 0))
        self.marks = self.report["up"]["marks"] + self.report["down"]["marks"]


def words_of(text):
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


class Row:
    """One case, its runs and what is to be said of them."""

    def __init__(self, testbed, folder, case, options):
        (side, cc), (far_side, far_cc) = tcp_array_cases.algorithms(case)
        # Ours is at home whichever way the bytes go.
        at = {"ours": "home", "kernel": "server"}
        self.case, self.options = case, options
        self.sender, self.receiver = End(at[side], side, cc), End(at[far_side], far_side, far_cc)
        self.size = int(options.bytes * LOSSY[case["loss"]])
        testbed.prepare(case)
        self.ratio = None
        if options.runs and cc in ("reno", "cubic") and case["loss"] <= 1:
            self.runs = self.compare(testbed, folder, cc)
        else:
            self.runs = [Run(testbed, folder, case, self.sender, self.receiver, self.size)]

    def compare(self, testbed, folder, cc):
        """Ours and two kernels, turn by turn."""
        ends = [End(self.sender.where, "kernel", cc), End(self.receiver.where, "kernel", cc)]
        size, runs, kernels = self.size * 2, [], []
        for _ in range(self.options.runs):
            runs.append(Run(testbed, folder, self.case, self.sender, self.receiver, size))
            kernels.append(Run(testbed, folder, self.case, *ends, size))
        self.size = size
        theirs = statistics.median(run.goodput for run in kernels)
        self.ratio = statistics.median(run.goodput for run in runs) / theirs if theirs else None
        return runs

    def complaints(self):
        told = [run.told["sender" if self.sender.side == "kernel" else "receiver"] for run in self.runs]
        if not all(run.equal for run in self.runs):
            yield "equal"
        if not all(run.closed for run in self.runs):
            yield "closed"
        if self.ratio is not None and self.ratio < GOODPUT_MIN:
            yield "goodput"
        # Linux does not agree on ECN with a SYN that is ECN-capable itself, as DCTCP's is (RFC 8257, 3.5).
        opener = self.sender if self.case["opens"] == "sender" else self.receiver
        wants_ecn = self.case["ecn"] != "off" and (opener.side, opener.cc) != ("ours", "dctcp")
        if any(("ecn" in kernel.get("ecn", "-")) != wants_ecn for kernel in told):
            yield "ecn"
        if self.sender.side == "kernel" and any(
                run.marks and not int(kernel.get("delivered_ce", 0)) for run, kernel in zip(self.runs, told)):
            yield "ce"

    def line(self, number):
        case, run = self.case, self.runs[-1]
        kernel = run.told["sender" if self.sender.side == "kernel" else "receiver"]
        complaints = list(self.complaints())
        goodput = statistics.median(run.goodput for run in self.runs)
        print_line(number, case["sender"], f"{self.receiver.side} {self.receiver.cc}", case["opens"], case["ip"],
                   case["ecn"], case["loss"], case["reorder"], case["mtu"], self.size, f"{goodput:.2f}",
                   "-" if self.ratio is None else f"{self.ratio:.2f}", run.resent, kernel.get("ecn", "?"), run.marks,
                   kernel.get("delivered_ce", "-") if self.sender.side == "kernel" else "-",
                   *("yes" if all(getattr(run, key) for run in self.runs) else "NO" for key in ("equal", "closed")),
                   ",".join(complaints) or "ok")
        return not complaints


def print_line(*cells):
    print(" ".join(str(cell).rjust(width) for cell, (_, width) in zip(cells, COLUMNS)), flush=True)


def dctcp(testbed, folder, options):
    """What DCTCP estimates beside what the link marked: to a kernel, which repeats a mark until it is answered
    (RFC 3168), and to our own receiver, which tells each (RFC 8257)."""
    print("\nDCTCP from ours to   marks  of packets   share   alpha  Mbit/s  verdict")
    good = True
    for receiver, ecn in (("kernel", "on"), ("kernel", "marks"), ("ours", "on"), ("ours", "marks")):
        # A kernel without DCTCP refuses ECN to an opener with DCTCP, but may open itself.
        opens = "receiver" if receiver == "kernel" else "sender"
        case = {"sender": "ours dctcp", "opens": opens, "ip": 4, "ecn": ecn,
                "loss": 0, "reorder": 0, "mtu": 1500}
        testbed.prepare(case)
        ends = End("home", "ours", "dctcp"), End("server", receiver, {"ours": "dctcp", "kernel": "reno"}[receiver])
        run = Run(testbed, folder, case, *ends, 4 * options.bytes)
        alpha = alpha_of(run.told["sender"].get("cc", ""))
        packets = run.report["up"]["frames_out"]
        share = run.report["up"]["marks"] / packets
        follows = {
            "on": alpha is not None and alpha < ALPHA_FADED,
            # A kernel repeats what it saw, so the estimate can only be larger.
            "marks": alpha is not None and share / 2 < alpha and (receiver == "kernel" or alpha < 3 * share + 0.02),
        }[ecn] and run.equal and run.closed
        good &= follows
        shown = "-" if alpha is None else f"{alpha:.3f}"
        print(f"{receiver:18} {run.report['up']['marks']:7} {packets:11} {share:7.3f} {shown:>7} {run.goodput:7.2f}"
              f"  {'ok' if follows else 'NO'}", flush=True)
    return good


def alpha_of(state):
    _, found, rest = state.partition("alpha:")
    return int(rest.split(",")[0]) / 1024 if found else None


def chosen(text, count):
    if text == "all":
        return range(1, count + 1)
    numbers = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return [number for number in numbers if 1 <= number <= count]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", default="all")
    parser.add_argument("--bytes", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rate", default="30mbit")
    parser.add_argument("--delay", type=float, default=5)
    parser.add_argument("--dctcp", choices=("yes", "no"), default="yes")
    options = parser.parse_args()
    cases = tcp_array_cases.cases()
    began = time.monotonic()
    testbed = Testbed(options.rate, options.delay)
    try:
        with tempfile.TemporaryDirectory() as folder:
            print_line(*(name for name, _ in COLUMNS))
            numbers = chosen(options.cases, len(cases))
            rows = [Row(testbed, folder, cases[number - 1], options).line(number) for number in numbers]
            good = dctcp(testbed, folder, options) if options.dctcp == "yes" else True
    finally:
        testbed.close()
    print(f"\n{sum(rows)} of {len(rows)} cases as they must be; {time.monotonic() - began:.0f} s")
    sys.exit(0 if all(rows) and good else 1)


if __name__ == "__main__":
    main()
