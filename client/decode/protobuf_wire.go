package decode

// The functions here read only what the generated code of Kubernetes writes:
// whatever else it may accept is for the generated Unmarshal to judge.

// Wire types.
const (
	wireVarint     = 0
	wireFixed64    = 1
	wireBytes      = 2
	wireStartGroup = 3
	wireEndGroup   = 4
	wireFixed32    = 5
)

// maxNumber is the highest number that a field can have.
const maxNumber = 1<<29 - 1

// uvarint reads a number at b[i:], and returns where it ends; 0 if it does not.
// As in generated code, bits beyond 64 are lost.
func uvarint(b []byte, i int) (v uint64, end int) {
	for shift := uint(0); i < len(b) && shift < 64; shift += 7 {
		c := b[i]
		i++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, i
		}
	}
	return 0, 0
}

// length reads the length of the value at b[i:], and returns where the value
// begins and ends; 0, 0 if it does not fit.
func length(b []byte, i int) (start, end int) {
	if i < len(b) && b[i] < 0x80 { // the usual case
		start, end = i+1, i+1+int(b[i])
		if end > len(b) {
			return 0, 0
		}
		return start, end
	}
	v, start := uvarint(b, i)
	if start == 0 || v > uint64(len(b)-start) {
		return 0, 0
	}
	return start, start + int(v)
}

// skip returns the end of the value at b[i:]; 0 if that cannot be told.
func skip(b []byte, i int, wire uint64) (end int) {
	switch wire {
	case wireVarint:
		_, end = uvarint(b, i)
	case wireFixed64:
		end = i + 8
	case wireFixed32:
		end = i + 4
	case wireBytes:
		_, end = length(b, i)
	}
	if end > len(b) {
		return 0
	}
	return end
}

// repeats counts the values of a repeated field that begins at b[i:], with a
// tag that ends at b[value]. It returns their number and where the last of
// them ends; 0, 0 if that cannot be told.
func repeats(b []byte, i, value int, wire uint64) (n, end int) {
	tag := string(b[i:value])
	for end = i; len(b)-end > len(tag) && string(b[end:end+len(tag)]) == tag; n++ {
		if end = skip(b, end+len(tag), wire); end == 0 {
			return 0, 0
		}
	}
	return n, end
}

// find returns the first value of the field with that number, if it is one of
// bytes.
func find(b []byte, number uint64) (value []byte) {
	for i := 0; i < len(b); {
		tag, at := uvarint(b, i)
		if at == 0 {
			return nil
		}
		if tag == number<<3|wireBytes {
			start, end := length(b, at)
			return b[start:end]
		}
		if i = skip(b, at, tag&7); i == 0 {
			return nil
		}
	}
	return nil
}
