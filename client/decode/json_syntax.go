package decode

// jsonSpaceEnd returns the offset of the first byte, from i on, that is not
// white space.
func jsonSpaceEnd(data []byte, i int) int {
	for i < len(data) && data[i] <= ' ' && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// jsonHex returns the number of the four hexadecimal digits at i.
func jsonHex(data []byte, i int) (r rune, ok bool) {
	if i+4 > len(data) {
		return 0, false
	}
	for _, c := range data[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// jsonScalarEnd returns the offset after a number, true, false or null, or -1.
func jsonScalarEnd(data []byte, i int) int {
	word := ""
	switch data[i] {
	case 't':
		word = "true"
	case 'f':
		word = "false"
	case 'n':
		word = "null"
	default:
		return jsonNumberEnd(data, i)
	}
	if len(data)-i < len(word) || string(data[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// jsonNumberEnd returns the offset after a number, or -1.
func jsonNumberEnd(data []byte, i int) int {
	if i < len(data) && data[i] == '-' {
		i++
	}
	start := i
	i = jsonDigitsEnd(data, i)
	if i == start || data[start] == '0' && i > start+1 {
		return -1
	}
	if i < len(data) && data[i] == '.' {
		start = i + 1
		if i = jsonDigitsEnd(data, start); i == start {
			return -1
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		start = i
		if i = jsonDigitsEnd(data, i); i == start {
			return -1
		}
	}
	return i
}

func jsonDigitsEnd(data []byte, i int) int {
	for i < len(data) && '0' <= data[i] && data[i] <= '9' {
		i++
	}
	return i
}
