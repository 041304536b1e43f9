package workload

import "strings"

const (
	// alphabet is that of generated names: no vowels, and nothing that looks
	// like them.
	alphabet = "bcdfghjklmnpqrstvwxz2456789"
	// suffixes is how many names of five such characters there are: 27⁵.
	suffixes = 27 * 27 * 27 * 27 * 27
	// spread makes neighbours look unlike; unspread takes it back:
	// spread × unspread ≡ 1 modulo suffixes.
	spread, unspread = 5382457, 12508564
)

// Suffix is the random-looking end of the name of the object at ordinal, by
// which a reconciler knows the object again without a map of names.
func Suffix(ordinal int) string {
	x := ordinal * spread % suffixes
	var suffix [5]byte
	for i := range suffix {
		suffix[i] = alphabet[x%len(alphabet)]
		x /= len(alphabet)
	}
	return string(suffix[:])
}

// Ordinal is the inverse: it takes a whole name. It is -1 for a name that
// Suffix did not end.
func Ordinal(name string) int {
	if len(name) < 5 {
		return -1
	}
	x := 0
	for i := len(name) - 1; i >= len(name)-5; i-- {
		digit := strings.IndexByte(alphabet, name[i])
		if digit < 0 {
			return -1
		}
		x = x*len(alphabet) + digit
	}
	return x * unspread % suffixes
}
