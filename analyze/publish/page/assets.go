package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// policy allows only the page's own script and style, and no loading except from connect, if it is
// not empty.
func policy(style, script, connect string) string {
	if connect != "" {
		connect = " connect-src " + connect + ";"
	}
	return fmt.Sprintf("default-src 'none'; img-src data:;%s style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", connect, digest(style), digest(script))
}

//go:embed page.css
var style string

//go:embed script
var scripts embed.FS

// script returns the parts of the script for figures, and further parts, wrapped in one function,
// so they share names only among themselves.
func script(further ...string) (string, error) {
	var b strings.Builder
	b.WriteString("(() => {\n'use strict';\n")
	for _, name := range slices.Concat([]string{"numbers", "plane", "bars", "chart", "pointer", "save", "theme"}, further) {
		part, err := scripts.ReadFile("script/" + name + ".js")
		if err != nil {
			return "", fmt.Errorf("read the page's script: %w", err)
		}
		b.Write(part)
	}
	b.WriteString("})();\n")
	return b.String(), nil
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

//go:embed page.html.tmpl
var markup string
