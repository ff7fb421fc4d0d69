package yamlfile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestDocument(t *testing.T) {
	for file, want := range map[string]string{
		"":                             "f:1:1: the file is empty",
		"~\n":                          "f:1:1: the file is empty",
		"a:\n\tb: 1\n":                 "f:2:1: not YAML: a tab indents this line; YAML wants spaces",
		"a: 1\n---\nb: 2\n":            "f:2:1: a second document begins here; the file must have only one",
		"a: *b\n":                      "f:1:4: not YAML: unknown anchor 'b' referenced",
		"a: 1\nb: 2 # x\u202ey\r\n":    `f:2:6: a comment must have no control characters: # x\u202ey`,
		strings.Repeat("#", MaxSize+1): "f:1:1: the file is larger than 4 MiB",
	} {
		r := New("f")
		r.Document([]byte(file))
		if err := r.Err(); err == nil || err.Error() != want {
			t.Errorf("%.20q: got %v, want %s", file, err, want)
		}
	}
}

// TestComments: comments in files with Windows line endings are accepted.
func TestComments(t *testing.T) {
	r := New("f")
	if r.Document([]byte("# one\r\na: 'b # c'\t# two\r\n")); r.Err() != nil {
		t.Error(r.Err())
	}
}

// Problems come in the file's order, each once; a problem without a place is last.
func TestProblemsInOrder(t *testing.T) {
	r := New("f")
	r.Errorf(nil, "no place")
	r.Errorf(&Node{Line: 2, Column: 1}, "second")
	r.Errorf(&Node{Line: 1, Column: 9}, "first")
	r.Errorf(&Node{Line: 2, Column: 1}, "second")
	r.Warnf(&Node{Line: 3, Column: 1}, "doubtful")
	const want = "f:1:9: first\nf:2:1: second\nf: no place"
	if got := r.Err().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := r.Warnings(); len(got) != 1 || got[0].String() != "f:3:1: warning: doubtful" {
		t.Errorf("got warnings %v, want the one that was reported", got)
	}
	if got := AsProblems(fmt.Errorf("wrapped: %w", r.Err())); len(got) != 3 {
		t.Errorf("a wrapped error has %d problems, want 3", len(got))
	}
	if got := AsProblems(errors.New("other")); got != nil {
		t.Errorf("another error has problems: %v", got)
	}
}

// Merged keys never replace a mapping's own, and reading a mapping that merges itself ends.
func TestMerges(t *testing.T) {
	r := New("f")
	root := r.Document([]byte("base: &b {x: 1, y: 2}\nown:\n  <<: *b\n  x: 3\n"))
	var got []string
	for _, p := range r.Pairs("own", r.Pairs("file", root)[1].Value) {
		got = append(got, p.Key.Value+p.Value.Value)
	}
	if want := "x3 y2"; strings.Join(got, " ") != want || r.Err() != nil {
		t.Errorf("got %v (%v), want %s", got, r.Err(), want)
	}
	r = New("f")
	root = r.Document([]byte("a: &a\n  <<: [*a, *a]\n"))
	r.Pairs("a", r.Pairs("file", root)[0].Value)
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "merges itself") {
		t.Errorf("got %v, want an end of the merges", err)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"clients", "connections", "key_size", "rate", "read"}
	for word, want := range map[string]string{
		"cliens": "clients", "Clients": "clients", "conections": "connections", "keysize": "key_size",
		"raet": "rate", "conn": "connections", "values": "", "x": "", "": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("the nearest word to %q is %q, want %q", word, got, want)
		}
	}
}
