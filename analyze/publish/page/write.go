package page

import (
	"bytes"
	"fmt"
	"html/template"

	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// Write returns the page.
func Write(p Page) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"slug": slug}).Parse(markup)
	if err != nil {
		return nil, fmt.Errorf("read page template: %w", err)
	}
	v, err := newView(p)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return nil, fmt.Errorf("write page: %w", err)
	}
	return []byte(plaintext.Visible(b.String())), nil
}
