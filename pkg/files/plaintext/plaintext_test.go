package plaintext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/files/plaintext"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"etcd: exit 1\n\tdone":    "etcd: exit 1\n\tdone",
		"größe 1,000 µs":          "größe 1,000 µs",
		"\x1b]0;owned\x07\x1b[2J": `\x1b]0;owned\x07\x1b[2J`,
		"a\rb\x00\u009b":          `a\x0db\x00\x9b`,
		"user\u202egpj.exe\u2066": `user\u202egpj.exe\u2066`,
		string([]byte{'a', 0xff}): "a\uFFFD",
	} {
		if got := plaintext.Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestShort(t *testing.T) {
	for in, want := range map[string]string{
		"größe":        "größe",
		"größer":       "größe...",
		"a\n\tb":       "a  b",
		"a\nb\x07cde":  `a b\x...`,
		"":             "",
		"\xff12345678": "\uFFFD1234...",
	} {
		if got := plaintext.Short(in, 5); got != want {
			t.Errorf("Short(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"etcd v3.6, 1,000 keys": "etcd v3.6, 1,000 keys",
		"<script>x</script>":    "&lt;script&gt;x&lt;/script&gt;",
		"![x](http://evil)":     `!\[x\](http://evil)`,
		"a\n# b\n``` c":         "a\n\\# b\n\\`\\`\\` c",
	} {
		if got := plaintext.Markdown(in); got != want {
			t.Errorf("Markdown(%q) = %q, want %q", in, got, want)
		}
	}
	if got := plaintext.Fenced("```\n<b>"); strings.Contains(got, "```") {
		t.Errorf("%q ends the block that it is in", got)
	}
}

// The JSON text keeps its value, without anything a terminal obeys.
func TestJSON(t *testing.T) {
	const hostile = "a\u009b2J\u202e\u2028\"ü\n"
	data, err := json.Marshal(map[string]string{hostile: hostile})
	if err != nil {
		t.Fatalf("encode for the test: %v", err)
	}
	got := plaintext.JSON(string(data) + "\n")
	var back map[string]string
	if err := json.Unmarshal([]byte(got), &back); err != nil || back[hostile] != hostile {
		t.Errorf("%s reads as %q (%v), want the same value", got, back, err)
	}
	if got != plaintext.Visible(got) {
		t.Errorf("%q has characters that a terminal obeys", got)
	}
}

// No field becomes a spreadsheet formula, and numbers stay numbers.
func TestField(t *testing.T) {
	for in, want := range map[string]string{
		"=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)", "+cmd": "'+cmd", "-2+3": "'-2+3", "\t=1": "'\t=1", "\n=1": "'\n=1", "＝cmd()": "'＝cmd()",
		"-2.5": "-2.5", "+3": "+3", "-": "-", "＝": "＝", "": "", "etcd": "etcd", "1,000": "1,000", "a\x1b[2J": `a\x1b[2J`, "\r=1": `\x0d=1`,
	} {
		if got := plaintext.Field(in); got != want {
			t.Errorf("Field(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCellAndLink(t *testing.T) {
	if got, want := plaintext.Cell("a|b\n| c\\| <i>"), `a\|b \| c\\\| &lt;i&gt;`; got != want {
		t.Errorf("Cell gives %q, want %q", got, want)
	}
	if got, want := plaintext.Link("a b/c)(d.svg"), "a%20b/c%29%28d.svg"; got != want {
		t.Errorf("Link gives %q, want %q", got, want)
	}
}

// A table keeps its rows and columns whatever its cells contain.
func TestTable(t *testing.T) {
	want := "| a |  |\n|---|---:|\n| x\\|y | 1<br>2 &lt;b&gt; |\n"
	if got := plaintext.Table([]string{"a", ""}, [][]string{{"x|y", "1\n2 <b>"}}, 1); got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

func TestWord(t *testing.T) {
	for in, want := range map[string]string{
		"certs/ca-1.pem":         "certs/ca-1.pem",
		"--from-file=a=/b":       "--from-file=a=/b",
		"größe":                  "größe",
		"":                       "''",
		"a b":                    "'a b'",
		"$(reboot)":              "'$(reboot)'",
		"it's;":                  `'it'\''s;'`,
		"x\n---\napiVersion: v1": "'x --- apiVersion: v1'",
		"\x1b[2J":                `'\x1b[2J'`,
	} {
		if got := plaintext.Word(in); got != want {
			t.Errorf("Word(%q) = %s, want %s", in, got, want)
		}
	}
}
