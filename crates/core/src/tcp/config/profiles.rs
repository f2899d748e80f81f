//! The profiles in figures. Where each comes from stands in `tables`.

use super::{
    AfterTimeout, Algorithm, Config, CwndUnit, EcnMode, EctOnSyn, Growth, PmtuProbing, Profile,
    Recovery, RtoRule, Tuning, WakeWriter, WindowRule,
};
use crate::cc::dctcp::{self, Fading};
use crate::time::Duration;

impl Config {
    pub(super) fn modern(mtu: u16) -> Config {
        Config {
            profile: Profile::Modern,
            algorithm: Algorithm::Reno,
            tuning: Tuning::default(),
            mtu,
            header_allowance: 40,
            mss: None,
            receive_buffer: 4 << 20,
            window_rule: WindowRule::Free,
            send_buffer: 4 << 20,
            segment_overhead: 0,
            wake_writer: WakeWriter::AtOneThird,
            initial_window: 10,
            initial_ssthresh: None,
            cwnd_max: u32::MAX,
            growth: Growth::PerByte,
            cwnd_unit: CwndUnit::Bytes,
            idle_restart: true,
            window_scale: true,
            timestamps: true,
            ecn: EcnMode::OnRequest,
            ect_on_syn: EctOnSyn::WithAlgorithm,
            dscp: 0,
            flow_label: 0,
            recovery: Recovery::Rack,
            tlp: true,
            prr: true,
            frto: true,
            limited_transmit: true,
            dsack: true,
            dup_ack_threshold: 3,
            eifel: true,
            after_timeout: AfterTimeout::SlowStart,
            nagle: true,
            ack_every: 2,
            delayed_ack: Duration::from_millis(40),
            ack_ticks: false,
            quick_acks: 16,
            repeat_ack: None,
            rto_rule: RtoRule::Rfc6298,
            rto_initial: Duration::from_secs(1),
            rto_min: Duration::from_millis(200),
            rto_max: Duration::from_secs(120),
            retries: 15,
            syn_retries: 6,
            header_prediction: true,
            time_wait: Duration::from_secs(60),
            keepalive: None,
            pmtu_probing: PmtuProbing::Off,
            pacing: false,
            backlog: 256,
            syn_cookies: true,
        }
    }

    pub(super) fn linux_1_1(mtu: u16) -> Config {
        Config {
            profile: Profile::Linux11,
            header_allowance: 64,
            receive_buffer: 32_767,
            window_rule: WindowRule::HalfLess2048,
            send_buffer: 32_767,
            segment_overhead: 216,
            wake_writer: WakeWriter::AtOneSegment,
            initial_window: 1,
            initial_ssthresh: Some(0),
            cwnd_max: 2048,
            growth: Growth::PerAck,
            cwnd_unit: CwndUnit::Packets,
            idle_restart: false,
            window_scale: false,
            timestamps: false,
            ecn: EcnMode::Off,
            recovery: Recovery::TimeoutOnly,
            tlp: false,
            prr: false,
            frto: false,
            limited_transmit: false,
            dsack: false,
            eifel: false,
            syn_cookies: false,
            after_timeout: AfterTimeout::ResendListByCwnd,
            ack_every: 1,
            delayed_ack: Duration::ZERO,
            quick_acks: 0,
            repeat_ack: Some(Duration::from_secs(3)),
            rto_rule: RtoRule::Linux11,
            rto_initial: Duration::from_secs(3),
            syn_retries: 5,
            ..Config::modern(mtu)
        }
    }

    pub(super) fn bsd_4_3(mtu: u16) -> Config {
        let mss = u32::from(mtu.saturating_sub(40)).max(1);
        Config {
            profile: Profile::Bsd43,
            receive_buffer: 8 << 10,
            send_buffer: 8 << 10,
            wake_writer: WakeWriter::AtOneSegment,
            initial_window: 1,
            initial_ssthresh: Some(65_535 / mss),
            cwnd_max: 65_535 / mss,
            window_scale: false,
            timestamps: false,
            ecn: EcnMode::Off,
            recovery: Recovery::Reno,
            tlp: false,
            prr: false,
            frto: false,
            limited_transmit: false,
            dsack: false,
            eifel: false,
            syn_cookies: false,
            delayed_ack: Duration::from_millis(200),
            ack_ticks: true,
            quick_acks: 0,
            rto_rule: RtoRule::Bsd43,
            rto_initial: Duration::from_secs(6),
            rto_min: Duration::from_secs(1),
            rto_max: Duration::from_secs(64),
            retries: 12,
            syn_retries: 3,
            ..Config::modern(mtu)
        }
    }

    pub(super) fn linux_2_2(mtu: u16) -> Config {
        Config {
            profile: Profile::Linux22,
            receive_buffer: 65_535,
            send_buffer: 65_535,
            initial_window: 2,
            ecn: EcnMode::Off,
            recovery: Recovery::Sack,
            tlp: false,
            prr: false,
            frto: false,
            limited_transmit: false,
            dsack: false,
            eifel: false,
            delayed_ack: Duration::from_millis(200),
            rto_initial: Duration::from_secs(3),
            syn_retries: 10,
            ..Config::modern(mtu)
        }
    }

    pub(super) fn linux_2_4(mtu: u16) -> Config {
        Config {
            profile: Profile::Linux24,
            receive_buffer: 87_380,
            send_buffer: 65_536,
            initial_window: if mtu > 1500 { 2 } else { 3 },
            limited_transmit: true,
            dsack: true,
            frto: true,
            eifel: true,
            delayed_ack: Duration::from_millis(40),
            syn_retries: 5,
            ..Config::linux_2_2(mtu)
        }
    }

    pub(super) fn linux_3_18(mtu: u16) -> Config {
        Config {
            profile: Profile::Linux318,
            algorithm: Algorithm::Cubic,
            recovery: Recovery::Sack,
            tuning: Tuning {
                dctcp: dctcp::Parameters { fading: Fading::Sticks, ..Default::default() },
                ..Tuning::default()
            },
            ..Config::modern(mtu)
        }
    }
}
