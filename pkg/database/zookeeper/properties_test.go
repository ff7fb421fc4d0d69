package zookeeper

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/coreos/dbtester/pkg/database"
)

// properties parses a file as java.util.Properties.load does.
func properties(t *testing.T, file string) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, line := range logicalLines(file) {
		key, rest := cutKey(line)
		key, value := unquoted(t, key), unquoted(t, rest)
		if _, twice := got[key]; twice {
			t.Errorf("key %q is in the file twice, want once", key)
		}
		got[key] = value
	}
	return got
}

// logicalLines drops comments and blank lines, and joins lines that end in an odd backslash count
// with the next.
func logicalLines(file string) []string {
	var lines []string
	join := false
	for _, line := range strings.FieldsFunc(file, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.TrimLeft(line, " \t\f")
		if !join && (line == "" || line[0] == '#' || line[0] == '!') {
			continue
		}
		slashes := len(line) - len(strings.TrimRight(line, `\`))
		odd := slashes%2 == 1
		line = line[:len(line)-slashes%2]
		if join {
			lines[len(lines)-1] += line
		} else {
			lines = append(lines, line)
		}
		join = odd
	}
	return lines
}

// cutKey splits a logical line at the first '=', ':' or blank that is not escaped.
func cutKey(line string) (key, rest string) {
	at := 0
	for at < len(line) && !strings.ContainsRune("=: \t\f", rune(line[at])) {
		if line[at] == '\\' {
			at++
		}
		at++
	}
	at = min(at, len(line))
	rest = strings.TrimLeft(line[at:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	return line[:at], rest
}

func unquoted(t *testing.T, s string) string {
	t.Helper()
	var units []uint16
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' || i+1 == len(s) {
			units = append(units, uint16(c)) // ISO 8859-1
			continue
		}
		i++
		switch c = s[i]; c {
		case 'u':
			n, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				t.Fatalf("malformed escape in %q", s)
			}
			units, i = append(units, uint16(n)), i+4
		case 'n', 'r', 't', 'f':
			units = append(units, uint16(map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'f': '\f'}[c]))
		default:
			units = append(units, uint16(c))
		}
	}
	return string(utf16.Decode(units))
}

// checkConfig fails unless zoo.cfg has exactly the planned keys, with the directory and the
// addresses that were given.
func checkConfig(t *testing.T, dir, addr string) {
	t.Helper()
	m := member(map[string]string{toolJars: "/opt/zookeeper"})
	m.Dir = dir
	want := properties(t, planned(t, m))
	m.Hosts = Database().Info.FillPorts([]database.Host{{Addr: addr}, {Addr: addr}})
	got := properties(t, planned(t, m))
	if a, b := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(a, b) {
		t.Fatalf("with directory %q and address %q zoo.cfg has the keys %q, want %q", dir, addr, a, b)
	}
	want = map[string]string{"dataDir": dir + "/data", "clientPortAddress": addr, "server.2": address(m.Self(), "peer") + ":3888"}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s reads back as %q, want %q", key, got[key], value)
		}
	}
}

func planned(t *testing.T, m database.Member) string {
	t.Helper()
	plan, err := New().Plan(m)
	if err != nil {
		t.Fatalf("make the plan: %v", err)
	}
	return plan.Files[0].Content
}

// The text in a directory name or an address never becomes a setting.
func FuzzConfig(f *testing.F) {
	for _, seed := range [][2]string{
		{"/data/m", "10.0.0.1"},
		{"/data/a b", "::1%lo\nserver.9=evil:1:2"},
		{"/data/a\\", "x\\"},
		{"/data/é𝄞\r\nadmin.enableServer=true\u2028", " #!=:"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, dir, addr string) {
		if !utf8.ValidString(dir) || !utf8.ValidString(addr) || !strings.HasPrefix(dir, "/") || strings.HasSuffix(dir, "/") || strings.Contains(dir, "//") || strings.Contains(dir, "/.") {
			t.Skip("no cleaned path")
		}
		checkConfig(t, dir, addr)
	})
}
