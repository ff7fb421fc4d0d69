package requests

import "math/bits"

// below maps 64 random bits to [0, n) (Lemire, "Fast random integer generation
// in an interval", 2019, without the rejection: the bias is n/2^64).
func below(draw uint64, n int64) int64 {
	hi, _ := bits.Mul64(draw, uint64(n))
	return int64(hi)
}

// permute maps [0, block) onto itself, in another order for every block and seed.
func permute(place, number int64, seed uint64) int64 {
	return feistel(place, block, 5, Mix64(seed^Mix64(uint64(number))))
}

// scatter maps [0, n) onto itself, in another order for every seed.
func scatter(rank, n int64, seed uint64) int64 {
	half := (bits.Len64(uint64(n-1)) + 1) / 2
	return feistel(rank, n, max(half, 1), Mix64(seed+golden))
}

// feistel maps [0, n) onto itself by a Feistel network over twice half bits,
// walked until it lands below n: at most four times on average.
func feistel(place, n int64, half int, key uint64) int64 {
	mask := uint64(1)<<half - 1
	for {
		left, right := uint64(place)>>half, uint64(place)&mask
		for round := range uint64(4) {
			left, right = right, left^(Mix64(key+round*golden+right)&mask)
		}
		place = int64(left<<half | right)
		if place < n {
			return place
		}
	}
}

// golden, which SplitMix64 adds in each step, is 2^64 divided by the golden ratio.
const golden = 0x9e3779b97f4a7c15

// Mix64 applies SplitMix64's finalizer: every bit of z changes half the result.
func Mix64(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
