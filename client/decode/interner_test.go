package decode

import (
	"encoding/binary"
	"strings"
	"testing"
	"unsafe"
)

func (in *interner) entries() int {
	return len(in.values) + len(in.oldValues) + len(in.strings) + len(in.oldStrings)
}

// Contract 4.
func TestInternerIsBoundedWhateverItSees(t *testing.T) {
	h, in := newHasher(), newInterner()
	for i := range 100_000 {
		b := binary.BigEndian.AppendUint64(nil, uint64(i))
		in.store(h.sum(b), 100, shared{})
		in.string(b)
		if most := 2 * in.bound / entryWeight; in.entries() > most {
			t.Fatalf("%d entries are kept, more than %d", in.entries(), most)
		}
	}
	if in.entries() < 1000 {
		t.Errorf("only %d entries are kept", in.entries())
	}
}

// Contract 2.
func TestInternerKeepsWhatIsUsed(t *testing.T) {
	h, in := newHasher(), newInterner()
	value := new(int)
	used, idle := h.salt("used"), h.salt("idle")
	in.store(used, 5, shared{unsafe.Pointer(value), 3})
	in.store(idle, 5, shared{unsafe.Pointer(value), 3})
	text, seen := in.string([]byte("text"))
	if seen {
		t.Error("a new string was seen before")
	}
	for range 5 {
		in.age()
		if v, ok := in.lookup(used, 5); !ok || v.ptr != unsafe.Pointer(value) || v.n != 3 {
			t.Fatalf("got %v, %v", v, ok)
		}
		if s, seen := in.string([]byte("text")); !seen || unsafe.StringData(s) != unsafe.StringData(text) {
			t.Fatal("a string in use was made again")
		}
	}
	if _, ok := in.lookup(idle, 5); ok {
		t.Error("what nobody used for two generations is still there")
	}
}

// Contract 4.
func TestInternerDoesNotKeepLongValues(t *testing.T) {
	h, in := newHasher(), newInterner()
	in.store(h.salt("long"), maxShared+1, shared{})
	in.string([]byte(strings.Repeat("x", maxShared+1)))
	if in.entries() > 0 {
		t.Errorf("%d are kept", in.entries())
	}
}

// Contract 4.
func TestInternerShrinksWithTheObjects(t *testing.T) {
	h, in := newHasher(), newInterner()
	in.limit(80 << 20)
	for i := range 50_000 {
		in.store(h.sum(binary.BigEndian.AppendUint64(nil, uint64(i))), 100, shared{})
	}
	if in.entries() < 50_000 {
		t.Fatalf("only %d of 50000 were kept", in.entries())
	}
	in.limit(0)
	if in.entries() > 0 {
		t.Errorf("%d are kept without an object", in.entries())
	}
}

func TestCreditEndsWhereNothingIsSharedAndComesBack(t *testing.T) {
	c := newCredit()
	tries := func(share bool) (n int) {
		for range 10_000 {
			if c.try() {
				n++
				c.settle(share)
			}
		}
		return n
	}
	if n := tries(false); n == 0 || n > 300 {
		t.Errorf("%d of 10000 values that are never equal were looked up", n)
	}
	if n := tries(true); n < 9_000 {
		t.Errorf("%d of 10000 values that are always equal were looked up", n)
	}
}
