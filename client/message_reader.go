package client

import (
	"bufio"
	"encoding/binary"
	"io"
	"slices"
)

const (
	// streamBuffer is through what a stream is read: as much as HTTP/2 brings in
	// two frames, and a few objects.
	streamBuffer = 32 << 10
	// keptBuffer is the most that a stream holds for messages larger than that:
	// an informer that waits must not hold the memory of its largest object.
	keptBuffer = 256 << 10
)

// messageReader reads protobuf messages that come one after the other. Each is
// good until the next call: it lies in the stream's buffer, or, if it is larger,
// in one of its own that is used again.
type messageReader struct {
	in    *bufio.Reader
	taken int // bytes of in's buffer that the last message has
	large []byte
}

// release lets go of the last message.
func (m *messageReader) release() {
	_, _ = m.in.Discard(m.taken) // they were peeked
	m.taken = 0
	if cap(m.large) > keptBuffer {
		m.large = nil
	}
}

// message reads size bytes.
func (m *messageReader) message(size uint64) ([]byte, error) {
	m.release()
	if size > maxMessage {
		return nil, errTooLong
	}
	n := int(size)
	if n > m.in.Size() {
		return m.readLarge(n)
	}
	data, err := m.in.Peek(n)
	if err != nil {
		return nil, noEOF(err)
	}
	m.taken = n
	return data, nil
}

// readLarge reads more than the stream's buffer holds. It takes memory only as
// bytes arrive: the size is what somebody claims.
func (m *messageReader) readLarge(n int) ([]byte, error) {
	m.large = m.large[:0]
	for len(m.large) < n {
		m.large = slices.Grow(m.large, min(n-len(m.large), max(len(m.large), streamBuffer)))
		got := len(m.large)
		more, err := io.ReadFull(m.in, m.large[got:min(n, cap(m.large))])
		m.large = m.large[:got+more]
		if err != nil {
			return nil, noEOF(err)
		}
	}
	return m.large, nil
}

// frame reads a message after 4 bytes that have its length. io.EOF is an end
// between two frames.
func (m *messageReader) frame() ([]byte, error) {
	m.release()
	head, err := m.in.Peek(4)
	if err != nil {
		if len(head) > 0 {
			err = noEOF(err)
		}
		return nil, err
	}
	size := binary.BigEndian.Uint32(head)
	_, _ = m.in.Discard(4) // they were peeked
	return m.message(uint64(size))
}

// field reads the head of one length-delimited field, and tells of how many
// bytes it was. io.EOF is an end between two fields.
func (m *messageReader) field() (num, size uint64, head int, err error) {
	m.release()
	if _, err := m.in.Peek(1); err != nil {
		return 0, 0, 0, err
	}
	tag, n, err := m.uvarint()
	if err != nil {
		return 0, 0, 0, err
	}
	if tag&7 != wireBytes {
		return 0, 0, 0, errWire
	}
	size, k, err := m.uvarint()
	return tag >> 3, size, n + k, err
}

// uvarint reads a number, and tells of how many bytes it was.
func (m *messageReader) uvarint() (v uint64, n int, err error) {
	for shift := 0; n < binary.MaxVarintLen64; shift += 7 {
		c, err := m.in.ReadByte()
		if err != nil {
			return 0, 0, noEOF(err)
		}
		n++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, n, nil
		}
	}
	return 0, 0, errWire
}

// noEOF turns an end in the middle of something into an error that says so.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
