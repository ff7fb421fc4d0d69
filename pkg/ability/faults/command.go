package faults

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/dbtester/pkg/yamlfile"
)

const (
	// Command is the kind of fault that control applies by running the user's program, without an
	// agent.
	Command = "command"
	// NoUndo stands for the undo if a command has nothing to undo.
	NoUndo = "none"

	commandMeaning = "control runs the program in `run`, and after `for` the program in `undo`; allowed for any cluster, including `endpoints`, but only with `control --allow-commands`"
)

// Commands returns the faults that are commands.
func Commands(list []Fault) (commands []Fault) {
	for _, f := range list {
		if f.Kind == Command {
			commands = append(commands, f)
		}
	}
	return commands
}

// Undoes returns the program, with its arguments, that undoes a command, or nil.
func (f Fault) Undoes() []string {
	if slices.Equal(f.Undo, []string{NoUndo}) {
		return nil
	}
	return f.Undo
}

// Argv formats a program with its arguments for people; "" without a program. It quotes arguments
// that a shell would change.
func Argv(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		if words[i] = word; word == "" || strings.ContainsFunc(word, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:=,@%+", r)
		}) {
			words[i] = strconv.Quote(word)
		}
	}
	return strings.Join(words, " ")
}

// commandFields declares the keys for commands.
func commandFields() []yamlfile.Field[Fault] {
	return []yamlfile.Field[Fault]{
		yamlfile.Key[Fault, []string]{Row: yamlfile.Row{Name: "run", Meaning: "for `command`: the program with its arguments, without a shell. It fails unless it exits with 0 within a minute"},
			Kind: argvKind(), At: func(f *Fault) *[]string { return &f.Run }, Shown: func(f *Fault) bool { return len(f.Run) > 0 }}.Field(),
		yamlfile.Key[Fault, []string]{Row: yamlfile.Row{Name: "undo", Meaning: "for `command`: the program that undoes it, which may run more than once, or the word `none`"},
			Kind: undoKind(), At: func(f *Fault) *[]string { return &f.Undo }, Shown: func(f *Fault) bool { return len(f.Undo) > 0 }}.Field(),
	}
}

// argvKind accepts a program with its arguments.
func argvKind() yamlfile.Kind[[]string] { return yamlfile.ListKind(yamlfile.TextKind(), true) }

// undoKind accepts a program with its arguments, or [NoUndo].
func undoKind() yamlfile.Kind[[]string] {
	k := argvKind()
	parse, node, nested := k.Parse, k.Node, k.Nested
	k.Unit = "list or word"
	k.Parse = func(r *yamlfile.Reader, key string, at *yamlfile.Node) ([]string, bool) {
		if yamlfile.IsText(at) && at.Value == NoUndo {
			return []string{NoUndo}, true
		}
		return parse(r, key, at)
	}
	k.Node = func(argv []string) *yamlfile.Node {
		if slices.Equal(argv, []string{NoUndo}) {
			return yamlfile.TextNode(NoUndo)
		}
		return node(argv)
	}
	k.Nested = func() yamlfile.Schema {
		return yamlfile.Schema{"anyOf": []yamlfile.Schema{{"enum": []string{NoUndo}}, nested()}}
	}
	return k
}

// CommandWithin bounds a command and an undo.
const CommandWithin = time.Minute
