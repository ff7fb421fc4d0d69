package workload

// KeyLaw decides which existing key an operation takes. The set is closed.
type KeyLaw string

// The key laws.
const (
	// KeysSequential takes one key after the other and then restarts.
	KeysSequential KeyLaw = "sequential"
	// KeysUniform takes every key equally often.
	KeysUniform KeyLaw = "uniform"
	// KeysZipfian takes few keys often: a key's rank is drawn with exponent 0.99, and ranks are
	// scattered over the keys, one to one.
	KeysZipfian KeyLaw = "zipfian"
	// KeysLatest takes the most recently created keys most often.
	KeysLatest KeyLaw = "latest"
	// KeysHotset takes most keys uniformly from a small hot set, and the rest from all
	// others. The hot set may move on.
	KeysHotset KeyLaw = "hotset"
)

// KeyLaws returns all key laws.
func KeyLaws() []KeyLaw {
	return []KeyLaw{KeysSequential, KeysUniform, KeysZipfian, KeysLatest, KeysHotset}
}
