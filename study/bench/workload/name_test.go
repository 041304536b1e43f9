package workload

import "testing"

func TestSuffixIsReversible(t *testing.T) {
	for _, ordinal := range []int{0, 1, 26, 27, 19999, suffixes - 1} {
		name := "service-7-7d9c5b8f6d-" + Suffix(ordinal)
		if got := Ordinal(name); got != ordinal {
			t.Errorf("Ordinal(%q) is %d, want %d", name, got, ordinal)
		}
	}
	for _, name := range []string{"", "abcd", "service-aaaaa"} {
		if got := Ordinal(name); got != -1 {
			t.Errorf("Ordinal(%q) is %d, want -1", name, got)
		}
	}
}
