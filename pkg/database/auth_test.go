package database_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/coreos/dbtester/pkg/database"
)

// However credentials are printed, logged or encoded, alone or inside another value, the
// user is shown and the password is not.
func TestAuthHidesPassword(t *testing.T) {
	const user, password = "bench", "hunter2"
	auth := database.Auth{User: user, Password: password}
	target := database.Target{Endpoints: []string{"10.0.0.1:2379"}, Auth: &auth}
	nested := struct {
		Name string
		Auth database.Auth
	}{"x", auth}

	shown := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%T"} {
		for name, v := range map[string]any{"value": auth, "pointer": &auth, "target": target, "nested": nested} {
			shown[name+" "+verb] = fmt.Sprintf(verb, v)
		}
	}
	for name, v := range map[string]any{"value": auth, "pointer": &auth, "target": target, "nested": nested} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("marshal: %v", err)
		}
		shown["json "+name] = string(data)
		if data, err = yaml.Dump(v); err != nil {
			t.Fatalf("encode the options: %v", err)
		}
		shown["yaml "+name] = string(data)
		var text, lines bytes.Buffer
		slog.New(slog.NewTextHandler(&text, nil)).Info("x", "auth", v)
		slog.New(slog.NewJSONHandler(&lines, nil)).Info("x", "auth", v)
		shown["slog text "+name], shown["slog json "+name] = text.String(), lines.String()
	}
	shown["error"] = fmt.Errorf("dial as %v: %w", auth, fmt.Errorf("%+v", &auth)).Error()

	hex := fmt.Sprintf("%x", password)
	for how, text := range shown {
		if strings.Contains(text, password) || strings.Contains(strings.ToLower(text), hex) {
			t.Errorf("%s tells the password: %s", how, text)
		}
	}
	for _, how := range []string{"value %v", "pointer %s", "value %#v", "json target", "yaml nested", "slog text pointer", "error"} {
		if !strings.Contains(shown[how], user) {
			t.Errorf("%s does not tell the user: %s", how, shown[how])
		}
	}
}
