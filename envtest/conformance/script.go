package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// script is one file of testdata: cases about one topic.
type script struct {
	name  string // the file's, without .txt
	head  []string
	needs Needs
	cases []*scriptCase

	webhook, ca string // $webhook and $ca; see startWebhooks
}

// Needs is what the cases of a script need from their server.
type Needs struct {
	// Controllers: garbage collection and namespaces that empty themselves, which
	// kube-controller-manager does ("# needs: controllers").
	Controllers bool
	// Compaction: it forgets its past when Target.Compact says so, and has to
	// itself ("# needs: compaction").
	Compaction bool
}

// scriptCase is what stands under one "=== title": checks that build on each
// other, in a namespace of their own.
type scriptCase struct {
	title  string
	checks []*check
	tail   []string // what follows the last check
}

// check is one request and what it has to answer.
type check struct {
	before  []string // blank lines and comments
	request []string // the request line, headers, body
	answer  []string
	line    int
	// differs is why the server in memory answers something else, from here to
	// the end of the case ("# differs: reason").
	differs string
	// marked: it is this check that says so.
	marked bool
}

const (
	caseMark   = "=== "
	answerMark = "----"
	needsMark  = "# needs: "
	differMark = "# differs: "
)

func readScript(file string) (*script, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s, err := parseScript(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	s.name = strings.TrimSuffix(filepath.Base(file), ".txt")
	return s, nil
}

// parseScript reads a script; its errors begin with the line's number.
func parseScript(text string) (*script, error) {
	s := &script{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var pending []string // blank lines and comments that belong to what follows
	var current *scriptCase
	titles := map[string]bool{}
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, caseMark):
			current = closeCase(s, current, pending)
			pending = nil
			current.title = strings.TrimPrefix(line, caseMark)
			if titles[current.title] {
				return nil, fmt.Errorf("%d: a second case %q", i+1, current.title)
			}
			titles[current.title] = true
			s.cases = append(s.cases, current)
		case line == "" || strings.HasPrefix(line, "#"):
			pending = append(pending, line)
		case current == nil:
			return nil, fmt.Errorf("%d: a request before the first %q", i+1, caseMark)
		default:
			c := &check{before: pending, line: i + 1}
			pending = nil
			if i = c.parse(lines, i); i < 0 {
				return nil, fmt.Errorf("%d: no %q after this request", c.line, answerMark)
			}
			if n := len(current.checks); c.differs == "" && n > 0 {
				c.differs = current.checks[n-1].differs
			}
			current.checks = append(current.checks, c)
		}
	}
	if current == nil {
		return nil, fmt.Errorf("1: no %q in it", caseMark)
	}
	closeCase(s, current, pending)
	return s, nil
}

// closeCase ends a case, or the head of the file when there is none yet, with
// the lines read since, and returns the next one.
func closeCase(s *script, c *scriptCase, pending []string) *scriptCase {
	if c != nil {
		c.tail = pending
		return &scriptCase{}
	}
	s.head = pending
	for _, line := range pending {
		s.needs.Controllers = s.needs.Controllers || line == needsMark+"controllers"
		s.needs.Compaction = s.needs.Compaction || line == needsMark+"compaction"
	}
	return &scriptCase{}
}

// parse reads a check that begins at line i and returns its last line, or -1.
func (c *check) parse(lines []string, i int) int {
	for _, line := range c.before {
		if reason, ok := strings.CutPrefix(line, differMark); ok {
			c.differs, c.marked = reason, true
		}
	}
	for ; i < len(lines) && lines[i] != answerMark; i++ {
		if strings.HasPrefix(lines[i], caseMark) {
			return -1
		}
		c.request = append(c.request, lines[i])
	}
	if i == len(lines) {
		return -1
	}
	for i++; i < len(lines) && lines[i] != ""; i++ {
		c.answer = append(c.answer, lines[i])
	}
	return i - 1
}

// String is the script's text: what was read, with the answers it has now.
func (s *script) String() string {
	var b strings.Builder
	write := func(lines []string) {
		for _, line := range lines {
			b.WriteString(line + "\n")
		}
	}
	write(s.head)
	for _, c := range s.cases {
		write([]string{caseMark + c.title})
		for _, k := range c.checks {
			write(k.before)
			write(k.request)
			write([]string{answerMark})
			write(k.answer)
		}
		write(c.tail)
	}
	return b.String()
}
