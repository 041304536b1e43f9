package decode

import (
	"bytes"
	"strconv"
)

// jsonInt returns a whole number, as strconv.ParseInt would.
func jsonInt(number []byte) (n int64, ok bool) {
	digits := number
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) > 18 {
		n, err := strconv.ParseInt(string(number), 10, 64)
		return n, err == nil
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(number) {
		n = -n
	}
	return n, true
}

// jsonUint returns a whole number, as strconv.ParseUint would.
func jsonUint(number []byte) (n uint64, ok bool) {
	if len(number) <= 18 && number[0] != '-' {
		n, ok := jsonInt(number)
		return uint64(n), ok
	}
	n, err := strconv.ParseUint(string(number), 10, 64)
	return n, err == nil
}

// jsonNumber returns a number of unstructured content: int64 if it has no dot
// and fits, else float64.
func jsonNumber(number []byte) (any, bool) {
	if bytes.IndexByte(number, '.') < 0 {
		if n, ok := jsonInt(number); ok {
			return n, true
		}
	}
	f, err := strconv.ParseFloat(string(number), 64)
	return f, err == nil
}
