fn main() {
    let seed: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    print!("{}", trunkline_lab::swarm::text_of(seed));
}
