package mark_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/mark"
)

var update = flag.Bool("update", false, "write the table of marks into docs/troubleshooting.md")

const root = "../.."

// TestKinds requires every kind to be complete and unique, and each of its sentences to be
// readable.
func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range mark.Kinds() {
		if k.Code == "" || seen[k.Code] || k.Help == "" || k.Remedy == "" || len(k.Sentences) == 0 {
			t.Errorf("%q is declared twice, or not whole: %+v", k.Code, k)
		}
		seen[k.Code] = true
		if !slices.Contains([]mark.Weight{mark.Invalid, mark.Weakens, mark.Harmless}, k.Weight) {
			t.Errorf("%s: no weight %q", k.Code, k.Weight)
		}
		for i, s := range k.Sentences {
			v, w := examples(s)
			text := mark.Text(k.Code, v, w)
			if text == "" || strings.ContainsAny(text, "{}[]") {
				t.Errorf("%s: sentence %d is %q", k.Code, i, text)
			}
			if form := mark.Form(k.Code, v, w); form != i {
				t.Errorf("%s: all names of sentence %d are read as sentence %d", k.Code, i, form)
			}
			if e := mark.EffectOf(k.Code, v, w); k.Weight == mark.Harmless && e.Number != mark.None {
				t.Errorf("%s is harmless and can change %s", k.Code, e.Number)
			}
			if s.Worst != "" && !strings.Contains(s.Text, "{"+s.Worst) && s.Worst != "added_percent" && s.Worst != "change_percent" && s.Worst != "interval_percent" {
				t.Errorf("%s: the worst is found by %s, which its text does not have", k.Code, s.Worst)
			}
		}
	}
}

// examples are a value or word for every name a sentence needs: a word where the name is known as
// one.
func examples(s mark.Sentence) (mark.Values, mark.Words) {
	words := []string{
		"generator", "from", "library", "elsewhere", "because", "why", "reason", "limit", "filesystem", "when", "how", "agents", "prefix", "others", "who", "host",
		"parts", "stage", "what", "state", "url", "database", "file", "by",
	}
	v, w := mark.Values{}, mark.Words{}
	for text := s.Text; ; {
		before, rest, found := strings.Cut(text, "{")
		if !found {
			return v, w
		}
		inside, after, _ := strings.Cut(rest, "}")
		name, _, _ := strings.Cut(inside, "|")
		optional := strings.LastIndex(s.Text[:len(s.Text)-len(rest)], "[") > strings.LastIndex(s.Text[:len(s.Text)-len(rest)], "]")
		_ = before
		switch {
		case optional:
		case slices.Contains(words, name):
			w[name] = "WORD"
		default:
			v[name] = 1
		}
		text = after
	}
}

// TestText formats values with their units: measured values with two digits, counts with all.
func TestText(t *testing.T) {
	share := func(percent, bound float64) mark.Values {
		return mark.Values{"step": 2, "clients": 1000, "share_percent": percent, "own_seconds": 403, "of_seconds": 4255, "mark_percent": bound}
	}
	for want, got := range map[string]string{
		"step 2, 1,000 clients: 6.7 % of the response times is delay in the client itself: 6.7 min of 1.2 h (mark above 5 %)":  mark.Text(mark.Saturated, share(6.72, 5), nil),
		"step 2, 1,000 clients: 5.02 % of the response times is delay in the client itself: 6.7 min of 1.2 h (mark above 5 %)": mark.Text(mark.Saturated, share(5.021, 5), nil),
		"step 1, 1 client: no request was due in the measured window":                                                          mark.Text(mark.Nothing, mark.Values{"step": 1, "clients": 1}, nil),
		"1 of 1,901 answers had a value that this load never wrote to the key":                                                 mark.Text(mark.WrongValue, mark.Values{"wrong": 1, "answers": 1901}, nil),
		"1 answer had a value that this load never wrote to the key":                                                           mark.Text(mark.WrongValue, mark.Values{"wrong": 1}, nil),
		"member 1: {why} [x]": mark.Text(mark.Lost, mark.Values{"member": 1}, mark.Words{"why": "{why} [x]"}),
		"member 3: an fdatasync takes 19 µs, which is faster than any real disk": mark.Text(mark.NotDurable, mark.Values{"member": 3, "fsync_seconds": 19.2e-6}, nil),
		"no capacity was found: it lies below 12.5 requests/s":                   mark.Text(mark.Capacity, mark.Values{"below_per_second": 12.5}, nil),
		"1,200 deliveries were not judged, besides 3,400 that came: cut":         mark.Text(mark.WatchInPart, mark.Values{"missing": 1200, "delivered": 3400}, mark.Words{"why": "cut"}),
		"": mark.Text("a code of later", mark.Values{"n": 1}, nil),
	} {
		if got != want {
			t.Errorf("want %q\n got %q", want, got)
		}
	}
}

// TestWiderEffect joins effects.
func TestWiderEffect(t *testing.T) {
	of := func(n mark.Number, share float64) mark.Effect { return mark.Effect{Number: n, Share: &share} }
	text := func(e mark.Effect) string {
		if e.Share == nil {
			return string(e.Number) + " unknown"
		}
		return fmt.Sprint(e.Number, " ", *e.Share)
	}
	for want, e := range map[string]mark.Effect{
		"latency 0.2":     of(mark.Latency, 0.1).Wider(of(mark.Latency, 0.2)),
		"both 0.3":        of(mark.Latency, 0.3).Wider(of(mark.Throughput, 0.2)),
		"throughput 0.2":  of(mark.None, 0).Wider(of(mark.Throughput, 0.2)),
		"latency 0.5":     of(mark.Latency, 0.5).Wider(of(mark.None, 0)),
		"latency unknown": of(mark.Latency, 0.5).Wider(mark.Unknown(mark.Latency)),
	} {
		if text(e) != want {
			t.Errorf("want %s, got %s", want, text(e))
		}
	}
}

// TestEveryCodeIsDeclared reads the sources: a mark is made with the constant or the text for a
// code that is declared here.
func TestEveryCodeIsDeclared(t *testing.T) {
	declared := map[string]bool{}
	for _, k := range mark.Kinds() {
		declared[k.Code] = true
	}
	codes := map[string]string{} // by the name of a constant in this package
	made := 0
	walk(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if strings.HasPrefix(path, "pkg/mark/") && len(n.Names) == 1 && len(n.Values) == 1 && n.Names[0].IsExported() && n.Type == nil {
					if code := literal(n.Values[0]); code != "" {
						codes[n.Names[0].Name] = code
					}
				}
			case *ast.CallExpr:
				if sel, is := n.Fun.(*ast.SelectorExpr); is && sel.Sel.Name == "NewMark" && len(n.Args) == 4 {
					made++
					if code := literal(n.Args[0]); code != "" && !declared[code] {
						t.Errorf("%s: the code %q is not declared", path, code)
					}
				}
			case *ast.CompositeLit:
				sel, is := n.Type.(*ast.SelectorExpr)
				if is && fmt.Sprint(sel.X) == "results" && sel.Sel.Name == "Mark" && len(n.Elts) > 0 {
					t.Errorf("%s: a mark without values: use results.NewMark", path)
				}
			}
			return true
		})
	})
	for name, code := range codes {
		if !declared[code] {
			t.Errorf("%s, %q, has no kind", name, code)
		}
	}
	if len(codes) != len(declared) || made < 10 {
		t.Errorf("%d codes and %d kinds, %d calls: the test looks in the wrong place", len(codes), len(declared), made)
	}
}

func literal(e ast.Expr) string {
	lit, is := e.(*ast.BasicLit)
	if !is || lit.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(lit.Value) // it was parsed just now
	return text
}

// walk parses the sources in this module except tests.
func walk(t *testing.T, see func(path string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "testdata", "test-results", "results", "tools"}, name):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".pb.go") || strings.HasPrefix(name, "analyze/runtest"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err == nil {
			see(filepath.ToSlash(name), file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDocs compares the marks table in docs/troubleshooting.md with the declarations.
func TestDocs(t *testing.T) {
	path := filepath.Join(root, "docs", "troubleshooting.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const head = "| mark |"
	before, rest, found := strings.Cut(string(data), head)
	_, after, end := strings.Cut(rest, "\n\n")
	if !found || !end {
		t.Fatalf("%s has no table that begins with %q", path, head)
	}
	want := before + mark.Table() + "\n" + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(data) != want {
		t.Errorf("%s does not have the table of pkg/mark: run go test ./pkg/mark -update", path)
	}
}
