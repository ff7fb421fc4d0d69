package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
)

func TestHostileOpen(t *testing.T) {
	h := serve(t, nil)
	for _, req := range []*pb.OpenRequest{
		{},
		{RunId: "../.."},
		{RunId: strings.Repeat("a", 65)},
		{RunId: "run\x00"},
		{RunId: "run1", Owner: "a\x1b[2Jb"},
		{RunId: "run1", Owner: strings.Repeat("a", 257)},
	} {
		_, err := h.Open(t.Context(), req)
		wantCode(t, err, codes.InvalidArgument)
	}
	if got := h.status(); got.State != pb.State_STATE_IDLE {
		t.Errorf("after refused opens: %v", got)
	}
}

func TestHostileStart(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	before := tree(t, h.dir)
	for name, test := range map[string]struct {
		change func(*pb.StartRequest)
		code   codes.Code
		text   string
	}{
		"no database":      {func(r *pb.StartRequest) { r.Database = "" }, codes.InvalidArgument, "known: toy, fake"},
		"unknown database": {func(r *pb.StartRequest) { r.Database = "db2" }, codes.InvalidArgument, `unknown database "db2" (known: toy, fake)`},
		"no tag":           {func(r *pb.StartRequest) { r.Tag = "" }, codes.InvalidArgument, "tag"},
		"tag going up":     {func(r *pb.StartRequest) { r.Tag = "../../x" }, codes.InvalidArgument, "tag"},
		"tag dots":         {func(r *pb.StartRequest) { r.Tag = ".." }, codes.InvalidArgument, "tag"},
		"tag of the lock":  {func(r *pb.StartRequest) { r.Tag = ".lock" }, codes.InvalidArgument, "tag"},
		"absolute tag":     {func(r *pb.StartRequest) { r.Tag = "/etc" }, codes.InvalidArgument, "tag"},
		"tag with a line":  {func(r *pb.StartRequest) { r.Tag = "a\nb" }, codes.InvalidArgument, "tag"},
		"endless tag":      {func(r *pb.StartRequest) { r.Tag = strings.Repeat("x", 129) }, codes.InvalidArgument, "tag"},
		"no hosts":         {func(r *pb.StartRequest) { r.Hosts = nil }, codes.InvalidArgument, "cluster of 0 hosts"},
		"nil host":         {func(r *pb.StartRequest) { r.Hosts = []*pb.MemberHost{nil} }, codes.InvalidArgument, `host name, got ""`},
		"too many hosts":   {func(r *pb.StartRequest) { r.Hosts = make([]*pb.MemberHost, 257) }, codes.InvalidArgument, "cluster of 257 hosts"},
		"index above":      {func(r *pb.StartRequest) { r.Index = 1 }, codes.InvalidArgument, "member 1 of 1"},
		"index below":      {func(r *pb.StartRequest) { r.Index = -1 }, codes.InvalidArgument, "member -1"},
		"clients below":    {func(r *pb.StartRequest) { r.Clients = -1 }, codes.InvalidArgument, "-1 clients"},
		"address a flag":   {func(r *pb.StartRequest) { r.Hosts[0].Addr = "--data-dir=/" }, codes.InvalidArgument, "address"},
		"address a script": {func(r *pb.StartRequest) { r.Hosts[0].Addr = "a;reboot" }, codes.InvalidArgument, "address"},
		"every address":    {func(r *pb.StartRequest) { r.Hosts[0].Addr = "0.0.0.0" }, codes.InvalidArgument, "opens the member to every network"},
		"zone a line":      {func(r *pb.StartRequest) { r.Hosts[0].Addr = "::1%lo\nserver.9=x" }, codes.InvalidArgument, "zone must be the name of an interface"},
		"zone a provider":  {func(r *pb.StartRequest) { r.Hosts[0].Addr = "::1%provider=exec command=id" }, codes.InvalidArgument, "zone must be"},
		"zone not here":    {func(r *pb.StartRequest) { r.Hosts[0].Addr = "::1%none0" }, codes.InvalidArgument, "an interface of this machine"},
		"one host twice": {func(r *pb.StartRequest) {
			r.Hosts = []*pb.MemberHost{{Addr: "localhost", Ports: r.Hosts[0].Ports}, {Addr: "127.0.0.1", Ports: r.Hosts[0].Ports}}
		}, codes.InvalidArgument, "which host 0 already uses"},
		"port above":       {func(r *pb.StartRequest) { r.Hosts[0].Ports["client"] = 65536 }, codes.InvalidArgument, "65536"},
		"port zero":        {func(r *pb.StartRequest) { r.Hosts[0].Ports["client"] = 0 }, codes.InvalidArgument, "is 0"},
		"many ports":       {func(r *pb.StartRequest) { r.Hosts[0].Ports["back"] = 80 }, codes.InvalidArgument, "ports must be at most 1, got 2"},
		"unknown port":     {func(r *pb.StartRequest) { r.Hosts[0].Ports = map[string]int32{"back": 80} }, codes.InvalidArgument, `"back" (known: client)`},
		"garbage options":  {func(r *pb.StartRequest) { r.Options = []byte("\x00{[") }, codes.InvalidArgument, "options"},
		"unknown option":   {func(r *pb.StartRequest) { r.Options = []byte("data_dir: /etc") }, codes.InvalidArgument, "data_dir"},
		"long options":     {func(r *pb.StartRequest) { r.Options = make([]byte, 64<<10+1) }, codes.InvalidArgument, "options must be at most 65536 bytes"},
		"invalid options":  {func(r *pb.StartRequest) { r.Options = []byte("memory: 1000000000000000") }, codes.InvalidArgument, "more than the machine has"},
		"panicking driver": {func(r *pb.StartRequest) { r.Options = []byte("panic: true") }, codes.Internal, "the toy broke"},
		"extra flags":      {func(r *pb.StartRequest) { r.Options = []byte("flags: [--pprof]") }, codes.PermissionDenied, "--allow-flags"},
		"a binary":         {func(r *pb.StartRequest) { r.Binary = "/bin/sh" }, codes.PermissionDenied, "--allow-binary"},
		"TLS for none":     {func(r *pb.StartRequest) { r.TlsCa = "/etc/ca.pem" }, codes.InvalidArgument, "toy speaks no TLS"},
		"no tool":          {func(r *pb.StartRequest) { r.Options = []byte("exec: /bin/sh") }, codes.FailedPrecondition, "must be one of the agent's tools"},
	} {
		t.Run(name, func(t *testing.T) {
			req := request(t, "run1", "")
			test.change(req)
			_, err := h.Start(t.Context(), req)
			wantCode(t, err, test.code, test.text)
			if got := h.status(); got.State != pb.State_STATE_OPEN {
				t.Errorf("state after a refusal: %v", got)
			}
		})
	}
	if got := tree(t, h.dir); len(got) != len(before) {
		t.Errorf("refused starts left files: %v", got)
	}
	h.start(request(t, "run1", ""))
}

// Files written into a removed work directory are lost, so nothing starts.
func TestWorkDirRemoved(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	if err := os.RemoveAll(h.dir); err != nil {
		t.Fatal(err)
	}
	_, err := h.Start(t.Context(), request(t, "run1", ""))
	wantCode(t, err, codes.FailedPrecondition, "was removed or replaced while the agent ran: restart the agent")
}

func TestAllowed(t *testing.T) {
	h := serve(t, func(o *agent.Options) { o.AllowBinary, o.AllowFlags = true, true })
	h.open("run1")
	req := request(t, "run1", "flags: [--pprof]")
	req.Binary = "dbd"
	_, err := h.Start(t.Context(), req)
	wantCode(t, err, codes.InvalidArgument, "not an absolute path")
	binary, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatalf("find the absolute path: %v", err)
	}
	link := filepath.Join(t.TempDir(), "toyd")
	if err := os.Symlink(binary, link); err != nil {
		t.Fatalf("make a symbolic link: %v", err)
	}
	req.Binary = link
	if got := h.start(req); got.Children[0].Argv[0] != link {
		t.Errorf("argv %q, want the binary %s", got.Children[0].Argv, link)
	}
}

func TestTools(t *testing.T) {
	binary, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatalf("find the absolute path: %v", err)
	}
	h := serve(t, func(o *agent.Options) { o.Tools = map[string]string{"toyd": binary, "java": "/usr/bin/java"} })
	h.open("run1")
	if got := h.start(request(t, "run1", "")); got.Children[0].Argv[0] != binary {
		t.Errorf("argv %q, want the agent's tool", got.Children[0].Argv)
	}
}

func TestPanicInVerb(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	h.start(request(t, "run1", "haunted: true"))
	_, err := h.Status(t.Context(), &pb.StatusRequest{Probe: true, RunId: h.run})
	wantCode(t, err, codes.Internal, "Status panicked: boo")
	h.stopped("run1")
}

func TestCheckListen(t *testing.T) {
	for _, test := range []struct {
		addr     string
		insecure bool
		ok       bool
	}{
		{"127.0.0.1:3500", false, true},
		{"127.9.9.9:3500", false, true},
		{"[::1]:3500", false, true},
		{"localhost:3500", false, true},
		{":3500", false, false},
		{"0.0.0.0:3500", false, false},
		{"[::]:3500", false, false},
		{"10.0.0.2:3500", false, false},
		{"db1:3500", false, false},
		{":3500", true, true},
		{"3500", true, false},
	} {
		if err := agent.CheckListen(test.addr, test.insecure); (err == nil) != test.ok {
			t.Errorf("%q, insecure %v: %v", test.addr, test.insecure, err)
		}
	}
}

// Certificate paths from the wire reach arguments and configuration files.
func TestHostileTLS(t *testing.T) {
	sealed := fake.Database()
	sealed.Name, sealed.Info.TLS = "sealed", true
	h := serve(t, func(o *agent.Options) { o.Registry = database.NewRegistry(sealed) })
	h.open("run1")
	dir := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
		return path
	}
	ca, cert, key, odd := file("ca"), file("cert"), file("key"), file("a\nserver.1=evil")
	for name, test := range map[string]struct{ ca, cert, key, text string }{
		"no CA":          {"", cert, key, "tls ca is missing"},
		"no key":         {ca, cert, "", "tls key is missing"},
		"relative":       {"ca.pem", cert, key, "not a plain absolute path"},
		"a line":         {odd, cert, key, "not a plain absolute path"},
		"going up":       {dir + "/../" + filepath.Base(dir) + "/ca", cert, key, "not a plain absolute path"},
		"endless":        {ca, "/" + strings.Repeat("x", 5000), key, "not a plain absolute path"},
		"not there":      {ca, cert, dir + "/none", "tls key on the agent's machine"},
		"a folder":       {ca, dir, key, "is not a file"},
		"all at once":    {dir, "", "x", "tls cert is missing: a member needs all three files"},
		"fit but unused": {ca, cert, key, "TLS is not supported"}, // by the driver's word
	} {
		t.Run(name, func(t *testing.T) {
			req := request(t, "run1", "")
			req.Database, req.DryRun = "sealed", true
			req.TlsCa, req.TlsCert, req.TlsKey = test.ca, test.cert, test.key
			_, err := h.Start(t.Context(), req)
			wantCode(t, err, codes.InvalidArgument, test.text)
		})
	}
}
