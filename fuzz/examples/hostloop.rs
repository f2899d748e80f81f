use trunkline_core::rng::Rng;
fn main() {
    let a: Vec<u64> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    for seed in a[0]..a[1] {
        let mut rng = Rng::new(seed).fork("loop");
        let len = rng.between(4, a[2]) as usize;
        let input: Vec<u8> = (0..len)
            .map(|_| match rng.below(3) {
                0 => rng.below(4) as u8,
                _ => rng.next_u32() as u8,
            })
            .collect();
        if std::panic::catch_unwind(|| trunkline_fuzz::host_receive(&input)).is_err() {
            std::fs::write(format!("/tmp/swarm.crash.{seed}"), &input).unwrap();
            println!("seed {seed} len {len}");
        }
    }
}
