package fault

import (
	"context"
	"strings"
	"unicode"
)

// longestVersion bounds the name of a release, in bytes.
const longestVersion = 64

// restart ends the member's commands as its agent does when a session ends, and starts them again
// at once: those from another release if there is a version.
func restart() Kind {
	return Kind{
		Name:      "restart",
		Meaning:   "ended with SIGINT, as when a run ends, and started again on its data at once; with `version`, that release is started",
		Immediate: true,
		keys:      []string{"version"},
		check: func(p Parameters) error {
			if len(p.Version) > longestVersion || strings.ContainsFunc(p.Version, func(r rune) bool { return !unicode.IsPrint(r) || r == '/' }) {
				return wrong("version", "version must be that of a release, got %q", p.Version)
			}
			return nil
		},
		apply: func(ctx context.Context, v Victim, r Record) (string, error) {
			p, err := r.decoded()
			if err != nil {
				return "", err
			}
			if p.Version != "" {
				if err := v.Upgrade(p.Version); err != nil { // before the end: a refusal leaves the member running
					return "", err
				}
			}
			return end(ctx, v, r, true)
		},
		undo: again,
	}
}

// Version returns the release with which a fault starts its member, "" for the previous one.
func (r Record) Version() (string, error) {
	p, err := r.decoded()
	return p.Version, err
}
