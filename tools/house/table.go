package main

import (
	"fmt"
	"io"
)

// heading prints title and the head of a table below it.
func heading(w io.Writer, title string, columns ...string) {
	fmt.Fprintf(w, "\n## %s\n\n", title)
	rule := "|"
	fmt.Fprint(w, "|")
	for _, c := range columns {
		fmt.Fprintf(w, " %s |", c)
		rule += "---|"
	}
	fmt.Fprintf(w, "\n%s\n", rule)
}

func row(w io.Writer, cells ...any) {
	fmt.Fprint(w, "|")
	for _, c := range cells {
		fmt.Fprintf(w, " %v |", c)
	}
	fmt.Fprintln(w)
}
