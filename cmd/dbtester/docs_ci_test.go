package main

import (
	"os"
	"os/exec"
)

// ciLines are the lines in ci.md, with a small program instead of the etcd source. The program is
// the server in this binary.
func ciLines() tested {
	return tested{(*page).repositories, []shown{
		{begins: "git -C etcd worktree add ../etcd-main origin/main"},
		{
			begins: "dbtester compare --config compare.yaml --a-source etcd-main --b-source etcd --pairs", codes: []int{exitInconclusive, exitInvalid}, want: "pair 2, side B",
			change: []string{"--pairs 8 --until 14", "--pairs 2 --until 2"},
		},
		// Recorded runs replace others and are too few to decide: the line warns and exits with 0.
		{
			begins: "dbtester compare --config compare.yaml --a-source etcd-main --b-source etcd --local ||", codes: []int{exitInvalid}, want: "::warning::inconclusive|not valid",
			change: []string{"--config compare.yaml --a-source etcd-main --b-source etcd --local", "results/compare/a/*/* --to results/compare/b/*/*"},
		},
		{begins: "git -C etcd worktree add ../etcd-good GOOD"},
		{begins: "git -C etcd bisect start BAD GOOD"},
		// The only commit in between does not build: it is skipped, and no other is left.
		{begins: "git -C etcd bisect run dbtester compare --bisect", codes: []int{2}, want: "only 'skip'ped commits left"},
	}}
}

// repositories makes a repository instead of the one for etcd, and a clone with two more commits,
// the first of which does not build.
func (p *page) repositories() {
	cache := os.Getenv("GOCACHE")
	if cache == "" {
		out, err := exec.Command("go", "env", "GOCACHE").Output()
		if err != nil {
			p.t.Fatalf("find Go's cache: %v", err)
		}
		cache = string(out[:len(out)-1])
	}
	p.env = []string{
		"XDG_CACHE_HOME=" + p.path("cache"), "GOCACHE=" + cache, "GOTOOLCHAIN=local", "GOWORK=off", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com",
	}
	p.write("compare.yaml", p.yaml("title: branch against main", "127.0.0.1, 127.0.0.2, 127.0.0.3", "HOST1",
		"duration: 15s, warm_up: 3s, clients: 100", "requests: 100, clients: 2"))
	p.git("init", "-q", "-b", "main", "upstream")
	p.write("upstream/server/go.mod", "module example.com/etcd\n\ngo 1.21\n")
	p.write("upstream/server/main.go", serverSource)
	p.commit("upstream", "the server")
	p.git("-C", "upstream", "tag", "GOOD")
	p.git("clone", "-q", "upstream", "etcd")
	p.write("etcd/server/broken.go", "package main\n\nbroken\n")
	p.commit("etcd", "begun")
	if err := os.Remove(p.path("etcd", "server", "broken.go")); err != nil {
		p.t.Fatalf("remove a file: %v", err)
	}
	p.write("etcd/server/doc.go", "// The server.\npackage main\n")
	p.commit("etcd", "done")
	p.git("-C", "etcd", "tag", "BAD")
}

const serverSource = `package main

import (
	"os"
	"os/exec"
	"syscall"
)

func main() {
	path, err := exec.LookPath("dbtester")
	if err == nil {
		err = syscall.Exec(path, append([]string{"dbtester", "serve", "etcd"}, os.Args[1:]...), os.Environ())
	}
	println(err.Error())
	os.Exit(1)
}
`

func (p *page) git(args ...string) {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), p.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func (p *page) commit(dir, message string) {
	p.t.Helper()
	p.git("-C", dir, "add", ".")
	p.git("-C", dir, "commit", "-q", "-m", message)
}
