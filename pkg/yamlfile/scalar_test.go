package yamlfile

import (
	"math"
	"strings"
	"testing"
	"time"
)

// read parses one scalar and returns the value and the message about the problem.
func read[T any](t *testing.T, parse Parser[T], text string, oldBooleans bool) (T, string) {
	t.Helper()
	r := New("f")
	r.OldBooleans = oldBooleans
	root := r.Document([]byte("k: " + text + "\n"))
	if root == nil {
		t.Fatalf("%q must be YAML: %v", text, r.Err())
	}
	value, ok := parse(r, "k", r.Pairs("file", root)[0].Value)
	if err := r.Err(); err != nil {
		if ok {
			t.Errorf("%q was read in spite of %v", text, err)
		}
		return value, strings.TrimPrefix(err.Error(), "f:1:4: ")
	}
	if !ok {
		t.Errorf("%q was refused without a reason", text)
	}
	return value, ""
}

func wantRead[T comparable](t *testing.T, parse Parser[T], text string, want T, problem string) {
	t.Helper()
	if got, why := read(t, parse, text, false); got != want || why != problem {
		t.Errorf("%q: got %v and %q, want %v and %q", text, got, why, want, problem)
	}
}

func TestScalars(t *testing.T) {
	wantRead(t, Text, "3.10", "3.10", "")
	wantRead(t, Text, "~", "", "k: want text, got nothing")
	wantRead(t, Filled, "''", "", "k: is empty")
	for _, text := range []string{`"a\nb"`, `"a\tb"`, `"a\eb"`, `"a\0"`, `"a\u202eb"`, `"a\u2028b"`, `"a\Nb"`} {
		if _, why := read(t, Text, text, false); !strings.Contains(why, "without control characters and line breaks") {
			t.Errorf("text %s: %q", text, why)
		}
	}
	wantRead(t, Prose, `"a\nb\tc"`, "a\nb\tc", "")
	if _, why := read(t, Prose, `"a\eb"`, false); !strings.Contains(why, "without control characters") {
		t.Errorf("prose with an escape: %q", why)
	}
	wantRead(t, Whole, "1e6", 1_000_000, "")
	wantRead(t, Whole, "-1", 0, "k: -1 is negative")
	wantRead(t, Whole, "1.5", 0, `k: want a whole number, got "1.5"`)
	wantRead(t, Small, "4294967296", 0, "k: 4294967296 is too large")
	wantRead(t, Port, "80", 80, "")
	wantRead(t, Port, "0", 0, "k: must be 1 to 65535, got 0")
	wantRead(t, Unsigned, "18446744073709551615", math.MaxUint64, "")
	wantRead(t, Unsigned, "-1", 0, `k: want a whole number, got "-1"`)
	wantRead(t, Number, ".inf", math.Inf(1), "")
	wantRead(t, Number, "fast", 0, `k: want a number, got "fast"`)
	wantRead(t, Duration, "1m30s", 90*time.Second, "")
	wantRead(t, Duration, "5", 0, "k: 5 has no unit (did you mean 5s?)")
	wantRead(t, Duration, "-5s", 0, "k: -5s is negative")
	wantRead(t, Size, "1KiB", 1024, "")
	wantRead(t, Size, "1.5KB", 1500, "")
	wantRead(t, Size, "0.3B", 0, `k: want a size such as 256, 256B or 1KiB, got "0.3B"`)
	wantRead(t, TruthOr("auto"), "auto", "auto", "")
	wantRead(t, TruthOr("auto"), "True", "true", "")
	wantRead(t, TruthOr("auto"), "false", "false", "")
	wantRead(t, TruthOr("auto"), "ture", "", `k: want true, false or auto, got "ture"`)
	wantRead(t, OneOf("red", "blue"), "blue", "blue", "")
	wantRead(t, OneOf("red", "blue"), "bleu", "", `k: unknown value "bleu" (did you mean "blue"?)`)
}

// The words of YAML 1.1 are booleans only if a caller requests them.
func TestOldBooleans(t *testing.T) {
	for text, want := range map[string]bool{"yes": true, "On": true, "y": true, "no": false, "off": false, "N": false} {
		if got, why := read(t, Truth, text, true); got != want || why != "" {
			t.Errorf("%s: got %v and %q, want %v", text, got, why, want)
		}
		if _, why := read(t, Truth, text, false); why == "" {
			t.Errorf("%s must not be a boolean of YAML 1.2", text)
		}
	}
	if _, why := read(t, Truth, "'yes'", true); why == "" {
		t.Error("a quoted word must not be a boolean")
	}
}

func TestList(t *testing.T) {
	got, _ := read(t, List(Small), "[1, 2]", false)
	if len(got) != 2 || got[1] != 2 {
		t.Errorf("got %v, want [1 2]", got)
	}
	if _, why := read(t, List(Small), "1", false); why != `k: want a list, got "1"` {
		t.Errorf("got %q, want a refusal: one number is not a list", why)
	}
}
