//! Ready cost tables: what is known of machines, each value with where it comes from.
//!
//! "The note" is Van Jacobson's of 1988 on the BSD network speed-ups, whose KB is 1024 bytes. What it gives
//! as sums is split here; the sums hold for a sender of full packets that gets one acknowledgment for two.

/// A cost table that comes with the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ready {
    /// What a plan calls it.
    pub name: &'static str,
    /// Key, value as a plan writes it, and where that comes from.
    pub rows: &'static [Row],
}

/// Key, value and origin.
pub type Row = (&'static str, &'static str, &'static str);

/// The ready tables, by age.
pub const READY: &[Ready] = &[
    Ready { name: "sun-3/50", rows: SUN_3 },
    Ready { name: "sun-3/60", rows: SUN_3 },
    Ready { name: "486slc-40", rows: I486SLC_40 },
    Ready { name: "486dx2-66", rows: I486DX2_66 },
    Ready { name: "ppro-200", rows: PENTIUM_PRO_200 },
    Ready { name: "dual-xeon-3.0", rows: DUAL_XEON_3_0 },
    Ready { name: "opteron-246", rows: OPTERON_246 },
    Ready { name: "modern", rows: MODERN },
];

/// A 68020 with an AMD LANCE, the BSD network code of 1988. The note has one set of times and ran 1 MB/s on a
/// 3/50 as on a 3/60.
#[rustfmt::skip]
const SUN_3: &[Row] = &[
    ("copy", "140us/KiB", "the note: copyin and copyout with the loop unrolled; 200 before"),
    ("checksum", "130us/KiB", "the note: oc_cksum; 490 before"),
    ("copy_and_checksum", "200us/KiB", "the note: the fast code of 1 MB/s"),
    ("combined", "off", "the note: in the fast code only"),
    ("chunk", "1KiB", "the note: sosend's loop, a cluster at a time; 4 KB before"),
    ("segment", "160us",
     "the note: 240 us of protocols for a packet, which is a segment and half an \
      acknowledgment"),
    ("packet", "80us",
     "assumed: half of a segment's, the other half is TCP's; one that is passed on is in and out"),
    ("slow_ack", "596us",
     "the note: protocols were 45 % of the fixed costs before header prediction, 458 us with \
      all else the same"),
    ("slow_data", "260us",
     "assumed: data in order costs BSD less beside its path for everything than an \
      acknowledgment, which looks at timers and windows"),
    ("pullup", "830us",
     "fitted: 600 KB/s while it was done; the note's 600 and 750 KB/s are 459 us a packet \
      apart at the sender, who receives one for two, 918 us each"),
    ("pulls_up", "off", "the note: no more"),
    ("stall", "120us", "the note: 15 % of 800 us, idle and not understood"),
    ("device", "175us",
     "the note: 55 % of 800 us are 440 us for device, interrupts and tasks; the split is \
      assumed: 2 x 175 for two buffers, and half of an interrupt and a wake-up"),
    ("interrupt", "90us", "assumed, see device"),
    ("dispatch", "150us", "the note: more than 150 us"),
    ("wakeup", "12us", "assumed, see device: with a fifth of a switch 90 us"),
    ("switch", "390us",
     "the note: sparing 80 % gave 70 KB/s, 156 us a packet at 750 KB/s, of which half a \
      wake-up saves 0.4 switches"),
    ("skip_same_process", "on", "the note: two lines in swtch"),
    ("bus", "212.2us/KiB",
     "the note: 300 us of bus and memory for a packet of 1448 bytes; twice what it should be"),
    ("first_buffer", "100B", "the note: the LANCE wants as much in the first of several"),
    ("rebuffer", "68us", "fitted: 890 KB/s beside 931 without it"),
    ("driver_queue", "50p", "assumed: the note queues an arbitrary number; BSD's interface queues hold 50"),
    ("receive_ring", "32p", "assumed: a usual ring of a LANCE"),
];

/// A 386's bus around a 486's core, ISA.
#[rustfmt::skip]
const I486SLC_40: &[Row] = &[
    ("copy", "80us/KiB", "assumed: a 16-bit bus at 40 MHz, 12 MB/s"),
    ("checksum", "50us/KiB", "assumed"),
    ("copy_and_checksum", "95us/KiB", "assumed"),
    ("combined", "on", "assumed"),
    ("chunk", "4KiB", "assumed"),
    ("segment", "130us", "assumed"),
    ("packet", "65us", "assumed: half of a segment's"),
    ("slow_ack", "170us", "assumed"),
    ("slow_data", "170us", "assumed"),
    ("pullup", "0us", "assumed"),
    ("pulls_up", "off", "assumed"),
    ("stall", "0us", "assumed"),
    ("device", "50us", "assumed"),
    ("interrupt", "60us", "assumed"),
    ("dispatch", "20us", "assumed"),
    ("wakeup", "45us", "assumed"),
    ("switch", "70us", "assumed"),
    ("skip_same_process", "on", "assumed"),
    ("bus", "0ns/B", "assumed"),
    ("first_buffer", "0B", "assumed"),
    ("rebuffer", "0us", "assumed"),
    ("driver_queue", "16p", "assumed"),
    ("receive_ring", "16p", "assumed"),
];

/// A 486 with an ISA card.
#[rustfmt::skip]
const I486DX2_66: &[Row] = &[
    ("copy", "33us/KiB", "assumed: a memory copy of 30 MB/s, as lmbench tells of the kind"),
    ("checksum", "22us/KiB", "assumed"),
    ("copy_and_checksum", "38us/KiB", "assumed"),
    ("combined", "on", "assumed"),
    ("chunk", "4KiB", "assumed"),
    ("segment", "60us", "assumed"),
    ("packet", "30us", "assumed: half of a segment's"),
    ("slow_ack", "80us", "assumed"),
    ("slow_data", "80us", "assumed"),
    ("pullup", "0us", "assumed"),
    ("pulls_up", "off", "assumed"),
    ("stall", "0us", "assumed"),
    ("device", "25us", "assumed"),
    ("interrupt", "30us", "assumed"),
    ("dispatch", "10us", "assumed"),
    ("wakeup", "20us", "assumed"),
    ("switch", "30us", "assumed"),
    ("skip_same_process", "on", "assumed"),
    ("bus", "0ns/B", "assumed"),
    ("first_buffer", "0B", "assumed"),
    ("rebuffer", "0us", "assumed"),
    ("driver_queue", "16p", "assumed"),
    ("receive_ring", "16p", "assumed"),
];

/// A Pentium Pro with a PCI card of 10 or 100 Mbit/s.
#[rustfmt::skip]
const PENTIUM_PRO_200: &[Row] = &[
    ("copy", "14us/KiB", "assumed: 70 MB/s out of memory"),
    ("checksum", "8us/KiB", "assumed"),
    ("copy_and_checksum", "15us/KiB", "assumed"),
    ("combined", "on", "assumed"),
    ("chunk", "4KiB", "assumed"),
    ("segment", "10us", "assumed"),
    ("packet", "5us", "assumed: half of a segment's"),
    ("slow_ack", "13us", "assumed"),
    ("slow_data", "13us", "assumed"),
    ("pullup", "0us", "assumed"),
    ("pulls_up", "off", "assumed"),
    ("stall", "0us", "assumed"),
    ("device", "4us", "assumed"),
    ("interrupt", "8us", "assumed"),
    ("dispatch", "5us", "assumed"),
    ("wakeup", "6us", "assumed"),
    ("switch", "4us", "assumed"),
    ("skip_same_process", "on", "assumed"),
    ("bus", "0ns/B", "assumed"),
    ("first_buffer", "0B", "assumed"),
    ("rebuffer", "0us", "assumed"),
    ("driver_queue", "16p", "assumed"),
    ("receive_ring", "16p", "assumed"),
];

/// Two Xeons of 3.0 GHz, of which one serves a card, with Intel's 82546.
#[rustfmt::skip]
const DUAL_XEON_3_0: &[Row] = &[
    ("copy", "1.1us/KiB",
     "the measurement of 2005: two ports end at 1640 Mbit/s, 7.06 us a packet received; the \
      split is assumed, and segment fitted on that figure in the plan crs4-bonding"),
    ("checksum", "0ns/B", "assumed: the card does it"),
    ("copy_and_checksum", "1.1us/KiB", "assumed"),
    ("combined", "off", "assumed"),
    ("chunk", "4KiB", "assumed"),
    ("segment", "3us", "fitted, see copy"),
    ("packet", "1.5us", "assumed: half of a segment's"),
    ("slow_ack", "3.5us", "assumed"),
    ("slow_data", "3.5us", "assumed"),
    ("pullup", "0us", "assumed"),
    ("pulls_up", "off", "assumed"),
    ("stall", "0us", "assumed"),
    ("device", "0.6us", "as copy"),
    ("interrupt", "1us", "as copy"),
    ("dispatch", "5us", "assumed"),
    ("wakeup", "0.2us", "assumed: its other processor runs the processes"),
    ("switch", "0us", "assumed, see wakeup"),
    ("skip_same_process", "on", "assumed"),
    ("bus", "0ns/B", "assumed"),
    ("first_buffer", "0B", "assumed"),
    ("rebuffer", "0us", "assumed"),
    ("driver_queue", "256p", "assumed"),
    ("receive_ring", "256p", "assumed"),
];

/// An Opteron of 2.0 GHz with a Broadcom 5704.
#[rustfmt::skip]
const OPTERON_246: &[Row] = &[
    ("copy", "1.2us/KiB",
     "the measurement of 2005: one client ends at 830 Mbit/s, 13.96 us a packet sent, if that \
      is its processor; the split is assumed, and segment fitted on that figure in the plan crs4-bonding"),
    ("checksum", "0ns/B", "assumed: the card does it"),
    ("copy_and_checksum", "1.2us/KiB", "assumed"),
    ("combined", "off", "assumed"),
    ("chunk", "4KiB", "assumed"),
    ("segment", "5.7us", "fitted, see copy"),
    ("packet", "2.85us", "assumed: half of a segment's"),
    ("slow_ack", "6us", "assumed"),
    ("slow_data", "6us", "assumed"),
    ("pullup", "0us", "assumed"),
    ("pulls_up", "off", "assumed"),
    ("stall", "0us", "assumed"),
    ("device", "1.6us", "as copy"),
    ("interrupt", "1.1us", "as copy"),
    ("dispatch", "5us", "assumed"),
    ("wakeup", "1.6us", "as copy"),
    ("switch", "2us", "assumed"),
    ("skip_same_process", "on", "assumed"),
    ("bus", "0ns/B", "assumed"),
    ("first_buffer", "0B", "assumed"),
    ("rebuffer", "0us", "assumed"),
    ("driver_queue", "256p", "assumed"),
    ("receive_ring", "256p", "assumed"),
];

/// A server of today.
#[rustfmt::skip]
const MODERN: &[Row] = &[
    ("copy", "8.4ns/KiB", "measured: trunkline-bench machine on an AMD EPYC, 1448 bytes in the cache"),
    ("checksum", "10.2ns/KiB", "measured, see copy"),
    ("copy_and_checksum", "12.6ns/KiB", "measured, see copy"),
    ("combined", "on", "assumed"),
    ("chunk", "4KiB", "assumed"),
    ("segment", "29ns",
     "measured: trunkline-bench machine, a third of sending, taking and half acknowledging one"),
    ("packet", "15ns", "assumed: half of a segment's"),
    ("slow_ack", "46ns", "measured: trunkline-bench machine, without header prediction"),
    ("slow_data", "46ns", "measured, see slow_ack"),
    ("pullup", "0us", "assumed"),
    ("pulls_up", "off", "assumed"),
    ("stall", "0us", "assumed"),
    ("device", "100ns", "assumed"),
    ("interrupt", "1us", "assumed"),
    ("dispatch", "2us", "assumed"),
    ("wakeup", "1.2us",
     "measured: trunkline-bench machine, half of a thread's waking another and waiting for it"),
    ("switch", "1.2us", "measured: the other half, see wakeup"),
    ("skip_same_process", "on", "assumed"),
    ("bus", "0ns/B", "assumed"),
    ("first_buffer", "0B", "assumed"),
    ("rebuffer", "0us", "assumed"),
    ("driver_queue", "1024p", "assumed"),
    ("receive_ring", "1024p", "assumed"),
];
