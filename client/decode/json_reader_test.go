package decode

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

// A value ends at the same byte in whichever chunks it comes.
func TestJSONReaderValue(t *testing.T) {
	for _, value := range []string{
		`{}`, `[]`, `""`, `"a"`, `0`, `-1.5e3`, `true`, `null`, `{"a":{"b":[1,{"c":"}]\"\\"}]}}`,
		`"\\"`, `"\""`, `"a long string that is more than eight bytes \\\" }{"`, ` [ 1 , 2 ] `, `{"a":"ü\u00fc"}`,
	} {
		want := strings.TrimSpace(value)
		for _, after := range []string{"", ",", "}", " ", "\n{}"} {
			for _, in := range []io.Reader{strings.NewReader(value + after), iotest.OneByteReader(strings.NewReader(value + after))} {
				r := NewJSONReader(bufio.NewReaderSize(in, 16), 100)
				got, err := r.Value()
				if err != nil || string(got) != want {
					t.Errorf("%q before %q: %q, %v", value, after, got, err)
				}
				next, err := r.Peek()
				if rest := strings.TrimSpace(after); rest == "" && err != io.EOF || rest != "" && next != rest[0] {
					t.Errorf("%q before %q: then %q, %v", value, after, next, err)
				}
			}
		}
	}
}

// Where the buffer ends within the value makes no difference.
func TestJSONReaderChunks(t *testing.T) {
	texts := append(oddObjects("spec.any"), string(testPod(t)), `{"a":"`+strings.Repeat(`\\`, 100)+`","b":"`+strings.Repeat(`\"}`, 100)+`"}`)
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if !json.Valid([]byte(text)) {
			continue
		}
		for _, size := range []int{16, 17, 63, 64, 65, 100, 1 << 20} {
			r := NewJSONReader(bufio.NewReaderSize(strings.NewReader(text+"\n"+text+","), size), 1<<20)
			for range 2 {
				if got, err := r.Value(); err != nil || string(got) != text {
					t.Fatalf("%.200q by %d: %.200q, %v", text, size, got, err)
				}
			}
			if err := r.Delimiter(','); err != nil {
				t.Fatalf("%.200q by %d: %v", text, size, err)
			}
		}
	}
}

func TestJSONReaderErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{``, "EOF"},
		{`  `, "EOF"},
		{`{`, "unexpected EOF"},
		{`"a`, "unexpected EOF"},
		{`"a\`, "unexpected EOF"},
		{`{"a":[1,2}`, "unexpected EOF"},
		{`}`, "invalid JSON: '}' in place of a value"},
		{`,`, "invalid JSON: ',' in place of a value"},
		{`"` + strings.Repeat("a", 200) + `"`, ErrTooLarge.Error()},
	} {
		_, err := NewJSONReader(bufio.NewReaderSize(strings.NewReader(tt.in), 16), 100).Value()
		if err == nil || err.Error() != tt.want {
			t.Errorf("%q: %v, want %v", tt.in, err, tt.want)
		}
	}
	r := NewJSONReader(bufio.NewReader(strings.NewReader(" [")), 100)
	if err := r.Delimiter('{'); err == nil || err.Error() != "invalid JSON: '[' in place of '{'" {
		t.Error(err)
	}
	if err := r.Delimiter('['); err != nil {
		t.Error(err)
	}
	if err := r.Delimiter(']'); err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
}

// The usual form of an event is opened in place; every other as well.
func TestJSONReaderOpenEvent(t *testing.T) {
	for _, event := range []string{
		`{"type":"ADDED","object":{"a":{"b":[{}]}}}`,
		`{"type":"BOOKMARK","object":{}}`,
		`{ "type":"ADDED","object":{"a":1}}`,
		`{"type":"ADDED","object":{"a":1}} `,
		`{"type":"ADDED","object":{"a":1} }`,
		`{"type":"ADDED", "object":{"a":1}}`,
		`{"object":{"a":1},"type":"ADDED"}`,
		`{"type":"ADDED","object":{"a":1},"more":1}`,
		`{"type":"ADDED","object":{"a":1},"more":{}}`,
		`{"type":"ADDED","object":{"a":1},"object":{"b":1}}`,
		`{"type":"\u0041DDED","object":{"a":1}}`,
		`{"type":"ADDED","object":null}`,
		`{"type":"ADDED"}`,
		`{"type":1}`,
		`[]`,
		`{"type":"ADDED","object":{"a":}}`,
		`{"type":"ADDED","object":{"a":]}`,
	} {
		var want struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		wantErr := json.Unmarshal([]byte(event), &want)
		r := NewJSONReader(bufio.NewReader(strings.NewReader(event)), 1000)
		if _, err := r.Value(); err != nil {
			t.Fatalf("%s: %v", event, err)
		}
		gotType, got, err := r.OpenEvent()
		if wantErr != nil && err == nil && json.Valid(got) {
			t.Errorf("%s: the mistake, %v, is lost", event, wantErr)
		}
		if wantErr == nil && (err != nil || gotType != want.Type || !bytes.Equal(got, want.Object)) {
			t.Errorf("%s: %s %s, %v", event, gotType, got, err)
		}
	}
}

func testPod(t testing.TB) []byte {
	t.Helper()
	pod, err := os.ReadFile("testdata/pod.json")
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func BenchmarkJSONReader(b *testing.B) {
	event := []byte(`{"type":"MODIFIED","object":` + string(testPod(b)) + "}\n")
	source := bytes.NewReader(event)
	in := bufio.NewReaderSize(source, 16<<10)
	r := NewJSONReader(in, 1<<20)
	b.SetBytes(int64(len(event)))
	for b.Loop() {
		source.Reset(event)
		in.Reset(source)
		if _, err := r.Value(); err != nil {
			b.Fatal(err)
		}
		if _, _, err := r.OpenEvent(); err != nil {
			b.Fatal(err)
		}
	}
}
