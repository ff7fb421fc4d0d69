package analyze

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/html"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/declared"
)

// hostile is markup, an end to its context, or a command to a terminal, a spreadsheet or a shell,
// wherever it is printed unescaped.
const hostile = "=cmd()<script>alert(1)</script><img src=x onerror=alert(2)> | ` ``` \" ' ]]> --> <!-- ![x](http://evil) $(evil) \\ \n\n# h\n<b>\x1b[2J\u009b2J\u202egpj.\u2066"

// hostileTag is the part of hostile that a folder name may contain.
var hostileTag = strings.NewReplacer("/", "", "\\", "").Replace(hostile)

// hostileFolder is a result folder in which every text that is not a format word is hostile.
func hostileFolder(t *testing.T) string {
	t.Helper()
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.Database("etcd-v3.6", 2*time.Millisecond)
	for _, record := range []*results.DatabaseRun{f.Database(hostileTag, 6*time.Millisecond), f.Mixed("=mix")} {
		record.OptionTexts = map[string]string{"o" + hostile: hostile, "path": "/x/" + hostile}
		record.Settings = &results.Settings{}
		record.Validity = []results.Mark{{Code: "other", Text: "text"}, {Code: "late", Text: "text", Invalid: true}}
		record.LogRules = []declared.LogRule{{Event: hostile, Pattern: "."}}
		record.Label, record.Asked = "v3_5", "3.5"
	}
	f.M.Validity = []results.Mark{{Code: "insecure", Text: "text"}}
	f.M.Config = json.RawMessage(`{"path": "file.yaml"}`)
	dir := f.Write()
	path := filepath.Join(dir, results.FileManifest)
	var manifest any
	if err := json.Unmarshal(readFile(t, path), &manifest); err != nil {
		t.Fatalf("decode the manifest: %v", err)
	}
	data, err := json.Marshal(poisoned("", manifest))
	if err != nil {
		t.Fatalf("encode the manifest: %v", err)
	}
	writeFile(t, path, data)
	for _, tag := range []string{"etcd-v3.6", hostileTag, "=mix"} {
		poisonErrors(t, filepath.Join(dir, tag, results.FileErrors))
		event, err := json.Marshal(results.Event{
			Time: time.Unix(runtest.Begin+1, 0), Kind: hostile, Text: hostile, Took: 3 * time.Second, Log: "logs/" + hostile, Line: 1,
		})
		if err != nil {
			t.Fatalf("encode an event: %v", err)
		}
		old, _ := os.ReadFile(filepath.Join(dir, tag, results.FileEvents)) // a mix has no such file
		writeFile(t, filepath.Join(dir, tag, results.FileEvents), append(old, append(event, '\n')...))
		if err := os.MkdirAll(filepath.Join(dir, tag, results.DirLogs), 0o755); err != nil {
			t.Fatalf("make a folder: %v", err)
		}
		writeFile(t, filepath.Join(dir, tag, results.DirLogs, "1-server.log"), []byte(hostile))
	}
	return dir
}

// poisoned adds hostile text to every string in a decoded manifest, except format words, times and
// numbers.
func poisoned(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, one := range v {
			v[name] = poisoned(name, one)
		}
	case []any:
		for i := range v {
			v[i] = poisoned(key, v[i])
		}
	case string:
		words := []string{"tag", "state", "operation", "key_law", "arrival", "read_mode", "workload", "phase", "pattern", "asked_version", "label", "format"}
		if _, err := time.Parse(time.RFC3339, v); err == nil || slices.Contains(words, key) {
			return v
		}
		return v + hostile
	}
	return v
}

// poisonErrors makes the texts in an errors.csv hostile.
func poisonErrors(t *testing.T, path string) {
	t.Helper()
	rows := csvRows(t, path, readFile(t, path))
	for _, row := range rows[1:] {
		for i, name := range rows[0] {
			if name == "class" || name == "first_text" || name == "message" {
				row[i] = hostile
			}
		}
	}
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		t.Fatalf("write %s: %v", path, err)
	}
	writeFile(t, path, b.Bytes())
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read a file: %v", err)
	}
	return data
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatalf("write a file: %v", err)
	}
}

func csvRows(t *testing.T, name string, data []byte) [][]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("%s is no CSV: %v", name, err)
	}
	return rows
}

// Every output shows texts from records, and no output interprets them.
func TestHostileText(t *testing.T) {
	r, err := analyzed(t, Options{Folders: []string{hostileFolder(t)}, Out: filepath.Join(t.TempDir(), "report")})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for name, text := range tree(t, r.Dir) {
		count[filepath.Ext(name)]++
		if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune("<>|\"'`$\\", r) }) {
			t.Errorf("the file name %q is hostile", name)
		}
		switch filepath.Ext(name) {
		case ".svg":
			checkSVG(t, name, text)
		case ".csv":
			checkCSV(t, name, []byte(text))
		case ".json":
			checkJSON(t, name, text)
		case ".html":
			checkHTML(t, text)
		case ".md":
			checkMarkdown(t, text)
		case ".txt":
			checkVisible(t, name, text)
		default:
			t.Errorf("%s is not checked", name)
		}
	}
	for _, extension := range []string{".svg", ".csv", ".json", ".html", ".md", ".txt"} {
		if count[extension] == 0 {
			t.Errorf("there is no %s file", extension)
		}
	}
	checkVisible(t, "the text", r.Text())
	checkVisible(t, "the summary", r.Summary())
	for _, shown := range []string{`\x1b[2J`, `\u202egpj.`} {
		if !strings.Contains(r.Text(), shown) {
			t.Errorf("the text does not show %s", shown)
		}
	}
}

// checkVisible fails for characters that control a terminal or change the text direction.
func checkVisible(t *testing.T, name, text string) {
	t.Helper()
	at := strings.IndexFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
	})
	if at >= 0 {
		t.Errorf("%s has a control character: %q", name, text[max(0, at-60):min(len(text), at+20)])
	}
}

func checkSVG(t *testing.T, name, text string) {
	t.Helper()
	checkVisible(t, name, text)
	known := []string{"svg", "title", "desc", "g", "path", "text", "rect", "circle", "line"}
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Errorf("%s is no XML: %v", name, err)
			return
		}
		switch e := token.(type) {
		case xml.StartElement:
			if !slices.Contains(known, e.Name.Local) {
				t.Errorf("%s has the element %s", name, e.Name.Local)
			}
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
					t.Errorf("%s has the attribute %s", name, a.Name.Local)
				}
			}
		case xml.Comment:
			t.Errorf("%s has a comment: %.60q", name, e)
		}
	}
}

// checkCSV fails for a field that a spreadsheet reads as a formula, and for values in numbers.csv
// that are not numbers.
func checkCSV(t *testing.T, name string, data []byte) {
	t.Helper()
	checkVisible(t, name, string(data))
	rows := csvRows(t, name, data)
	for _, row := range rows {
		for _, field := range row {
			if len(field) < 2 || !strings.ContainsRune("=+-@\t\n＝＋－＠", []rune(field)[0]) {
				continue
			}
			if _, err := strconv.ParseFloat(field, 64); err != nil {
				t.Errorf("%s has the formula %.60q", name, field)
			}
		}
	}
	if name != fileTidy {
		return
	}
	at, numbers := slices.Index(rows[0], "value"), 0
	for _, row := range rows[1:] {
		if row[at] == "" {
			continue
		}
		numbers++
		if _, err := strconv.ParseFloat(row[at], 64); err != nil {
			t.Errorf("%s has the value %q", name, row[at])
		}
	}
	if numbers < 100 {
		t.Errorf("%s has only %d numbers", name, numbers)
	}
}

func checkJSON(t *testing.T, name, text string) {
	t.Helper()
	var report struct {
		Title string
		Runs  []struct{ Tag string }
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Errorf("%s is no JSON: %v", name, err)
	}
	if !strings.HasSuffix(report.Title, hostile) || len(report.Runs) != 3 || report.Runs[1].Tag != hostileTag {
		t.Errorf("%s has other texts than the records: %q, %+v", name, report.Title, report.Runs)
	}
	for _, end := range []string{"</", "<!--", "]]>"} {
		if strings.Contains(text, end) {
			t.Errorf("%s has %q, which ends what it is embedded in", name, end)
		}
	}
}

func checkHTML(t *testing.T, text string) {
	t.Helper()
	checkVisible(t, "the page", text)
	page, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatalf("parse the page: %v", err)
	}
	scripts, figures := 0, 0
	for n := range page.Descendants() {
		switch {
		case n.Type == html.CommentNode:
			t.Errorf("the page has a comment: %.60q", n.Data)
		case n.Type != html.ElementNode:
			continue
		case slices.Contains([]string{"img", "iframe", "object", "embed", "link", "base", "b"}, n.Data):
			t.Errorf("the page has the element %s", n.Data)
		case n.Data == "figure":
			figures++
		case n.Data == "script" && len(n.Attr) == 0:
			scripts++
		case n.Data == "script":
			if n.FirstChild == nil || !json.Valid([]byte(n.FirstChild.Data)) {
				t.Error("the data of a figure is no JSON")
			}
		}
		for _, a := range n.Attr {
			address, err := url.Parse(a.Val)
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "href" && (err != nil || address.IsAbs() || address.Host != "") {
				t.Errorf("the element %s has the attribute %s=%.60q", n.Data, a.Key, a.Val)
			}
		}
	}
	if scripts != 1 || figures == 0 {
		t.Errorf("the page has %d scripts and %d figures", scripts, figures)
	}
}

// checkMarkdown fails for HTML, code, links and images from a text, and for tables broken by
// a text.
func checkMarkdown(t *testing.T, text string) {
	t.Helper()
	checkVisible(t, "README.md", text)
	var plain []string
	fenced := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
			if strings.TrimSpace(line) != "```" {
				t.Errorf("README.md has the fence %.60q", line)
			}
		case fenced && strings.Contains(line, "```"):
			t.Errorf("a code block of README.md has %.60q", line)
		case !fenced:
			plain = append(plain, strings.TrimSuffix(line, "\n"))
		}
	}
	if fenced {
		t.Error("README.md ends inside a code block")
	}
	markup := regexp.MustCompile(`<[a-zA-Z!/][^ >]*`)
	image := regexp.MustCompile(`^!\[(?:[^\[\]\\]|\\.)*\]\(figures/[A-Za-z0-9%._@#~+,-]+\.svg\)$`)
	ours := regexp.MustCompile(`\[[a-z -]+(?:\.[a-z]+)?\]\((?:figures|data|numbers\.csv|all-aggregated\.txt|report\.html(?:#[a-z]+)?)\)`)
	pipes := 0
	for _, line := range plain {
		line = ours.ReplaceAllString(line, "")
		for _, tag := range markup.FindAllString(line, -1) {
			if tag != "<br" {
				t.Errorf("README.md has %q in %.90q", tag, line)
			}
		}
		bare := regexp.MustCompile(`\\.`).ReplaceAllString(line, "")
		if strings.Contains(bare, "`") || strings.HasPrefix(line, "!") != image.MatchString(line) || !strings.HasPrefix(line, "!") && strings.Contains(bare, "](") {
			t.Errorf("README.md has code, a link or another image in %.200q", line)
		}
		if line == "# h" {
			t.Error("a text makes a heading of README.md")
		}
		n := strings.Count(bare, "|")
		if strings.HasPrefix(line, "|") && pipes > 0 && n != pipes {
			t.Errorf("want %d bars in the row of a table, got %d: %.200q", pipes, n, line)
		}
		if pipes = n; !strings.HasPrefix(line, "|") {
			pipes = 0
		}
	}
}
