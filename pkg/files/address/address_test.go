package address_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/files/address"
)

func TestCheck(t *testing.T) {
	for _, good := range []string{
		"10.0.0.1", "::1", "fe80::1%eth0", "fe80::1%br-1.100", "db1", "DB1.example.org", "3com.com", "a-b.c", "1a", strings.Repeat("a", 63) + ".b",
	} {
		if err := address.Check(good); err != nil {
			t.Errorf("%q is refused, want it accepted: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", ".", "a.", "-a", "a-", "a_b", "a b", "a\nb", "999.1.2.3", "1.2.3", "127.1", "2130706433", "0x7f000001", "db.0x1",
		"::1%", "::1%eth0\nserver.9=evil", "::1%x provider=exec", "::1%${jndi:x}", "::1%{{GetAllInterfaces}}", "::1%a\\", "::1%a=b", "::1%a/b",
		"::1%" + strings.Repeat("a", 16), "[::1]", "a:1", "a;reboot", "--data-dir=/", strings.Repeat("a", 64), strings.Repeat("a.", 127) + "ab", "dé",
	} {
		if address.Check(bad) == nil {
			t.Errorf("%q is accepted, want it refused", bad)
		}
	}
}

func TestCheckMember(t *testing.T) {
	for _, bad := range []string{"0.0.0.0", "::", "0:0:0:0:0:0:0:0", "::ffff:0.0.0.0", "::%lo"} {
		if address.CheckMember(bad) == nil {
			t.Errorf("%q is accepted for a member, want it refused: it listens everywhere", bad)
		}
	}
	if err := address.CheckMember("127.0.0.1"); err != nil {
		t.Errorf("check the address: %v", err)
	}
}

func TestCheckZone(t *testing.T) {
	for _, good := range []string{"fe80::1%lo", "10.0.0.1", "db1"} {
		if err := address.CheckZone(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	if err := address.CheckZone("fe80::1%none0"); err == nil || !strings.Contains(err.Error(), `"none0"`) {
		t.Errorf("a zone that is no interface here: %v, want an error that names it", err)
	}
}

func TestCanonical(t *testing.T) {
	for _, same := range [][]string{
		{"127.0.0.1", "localhost", "LocalHost", "::ffff:127.0.0.1"},
		{"::1", "0:0:0:0:0:0:0:1", "0000::0001"},
		{"db1", "DB1"},
	} {
		for _, s := range same {
			if got := address.Canonical(s); got != same[0] {
				t.Errorf("Canonical(%q) = %q, want %q", s, got, same[0])
			}
		}
	}
}

// Accepted addresses contain no characters that have a special meaning in configuration files,
// templates and shells.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"::1", "fe80::1%eth0", "db1.example.org", "::1%x\ny=z", "a b", "{{x}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if address.Check(s) != nil {
			return
		}
		if strings.ContainsFunc(s, func(r rune) bool {
			return !strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:%_", r)
		}) || strings.HasPrefix(s, "-") {
			t.Errorf("%q is accepted", s)
		}
		if _, err := netip.ParseAddr(s); err != nil && strings.ContainsAny(s, ":%_") {
			t.Errorf("%q is accepted as a host name", s)
		}
	})
}
