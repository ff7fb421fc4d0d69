package declared

// Setting records a server's setting, by its own release's name and unit.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Default is the release's default; "" without one.
	Default string `json:"default,omitempty"`
}

// String returns the setting with its default: "--snapshot-count=100000 (default 10000)".
func (s Setting) String() string {
	text := s.Name
	if s.Value != "" {
		text += "=" + s.Value
	}
	if s.Default != "" {
		text += " (default " + s.Default + ")"
	}
	return text
}
