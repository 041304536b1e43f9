package decode

import (
	"bytes"
	"encoding/binary"
)

// metaManagedFields is the number of the field in ObjectMeta; metadata is the first
// field of each object.
const (
	objectMeta        = 1
	metaManagedFields = 17
)

// cutMessage appends an object's message to out, without managedFields. What it does
// not understand, it leaves: it only spares memory.
func cutMessage(out, message []byte) []byte {
	tag, at := uvarint(message, 0)
	start, end := length(message, at)
	if at == 0 || tag != objectMeta<<3|wireBytes || end == 0 {
		return append(out, message...)
	}
	meta := message[start:end]
	from, to := 0, 0 // managedFields: they are in one piece
	for i := 0; i < len(meta); {
		tag, at := uvarint(meta, i)
		next := 0
		if at != 0 {
			next = skip(meta, at, tag&7)
		}
		if next == 0 {
			return append(out, message...)
		}
		if tag == metaManagedFields<<3|wireBytes {
			if to != i {
				from = i
			}
			to = next
		}
		i = next
	}
	out = append(out, message[:at]...)
	out = binary.AppendUvarint(out, uint64(len(meta)-(to-from)))
	out = append(append(out, meta[:from]...), meta[to:]...)
	return append(out, message[end:]...)
}

// cutJSON appends an object to out, without metadata.managedFields. data is valid
// JSON. See cutMessage.
func cutJSON(out, data []byte) []byte {
	metadata, start := member(data, 0, "metadata")
	if start < 0 || metadata >= len(data) || data[metadata] != '{' {
		return append(out, data...)
	}
	value, from := member(data, metadata, "managedFields")
	if from < 0 {
		return append(out, data...)
	}
	to := jsonEnd(data, value)
	// One of the commas around it goes too.
	if rest := bytes.TrimLeft(data[to:], " \t\r\n"); len(rest) > 0 && rest[0] == ',' {
		to = len(data) - len(rest) + 1
	} else if before := bytes.TrimRight(data[:from], " \t\r\n"); len(before) > 0 && before[len(before)-1] == ',' {
		from = len(before) - 1
	}
	return append(append(out, data[:from]...), data[to:]...)
}

// member returns where the value of a member begins, of the JSON object at
// data[i:], and where its name does; -1 if there is none.
func member(data []byte, i int, name string) (value, start int) {
	for i = space(data, i) + 1; ; i++ {
		if i = space(data, i); i >= len(data) || data[i] != '"' {
			return -1, -1
		}
		start = i
		i = jsonEnd(data, i)
		found := string(data[start+1:i-1]) == name
		i = space(data, i) + 1 // the colon
		i = space(data, i)
		if found {
			return i, start
		}
		i = space(data, jsonEnd(data, i)) // at a comma, or the end
	}
}

// space returns where what is not space begins.
func space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t') {
		i++
	}
	return i
}

// jsonEnd returns the end of the value that begins at data[i].
func jsonEnd(data []byte, i int) int {
	depth := 0
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 {
				return i // after a number, or a word
			}
			depth--
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return min(i+1, len(data))
		}
	}
	return len(data)
}
