package tap

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel's structs seccomp_notif and seccomp_notif_resp.
type (
	notification struct {
		id    uint64
		pid   uint32
		flags uint32
		nr    int32
		arch  uint32
		ip    uint64
		args  [6]uint64
	}
	response struct {
		id    uint64
		val   int64
		errno int32
		flags uint32
	}
)

const (
	setModeFilter = 1
	// newListener returns a descriptor for the notifications. waitKillable (5.19) keeps signals
	// that do not end its process from interrupting a held call.
	newListener  = 1 << 3
	waitKillable = 1 << 5

	retAllow  = 0x7fff0000
	retNotify = 0x7fc00000

	ioctlReceive = 0xc0502100
	ioctlSend    = 0xc0182101
	// ioctlSetFlags sets flags on a listener. syncWakeUp (6.6) makes a caller and the thread that
	// answers it take turns on one processor.
	ioctlSetFlags = 0x40082104
	syncWakeUp    = 1

	// flagContinue makes the kernel continue the call.
	flagContinue = 1
)

// endEvery is the interval between checks for the end of a tap while no call comes.
const endEvery = 200 * time.Millisecond

// Check returns why this machine cannot have taps. It tries one on a separate thread.
func Check() error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with its goroutine, and the filter with it
		listener, err := install()
		if err == nil {
			err = unix.Close(listener)
		}
		done <- err
	}()
	return <-done
}

// Place makes the next process this thread starts pass the tap. It is a Place as package process
// has it: the thread keeps the filter and ends with its goroutine.
func (t *Tap) Place(*syscall.SysProcAttr) (leave func() error, err error) {
	leave = func() error { return nil }
	runtime.LockOSThread() // once more than it is unlocked
	listener, err := install()
	if err != nil {
		return leave, err
	}
	t.serving.Go(func() { t.serve(listener) })
	return leave, nil
}

// install puts the filter on this thread and returns the descriptor for its notifications.
func install() (listener int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("tap fsync: give up new privileges: %w", err)
	}
	filter := program()
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	for _, flags := range []uintptr{newListener | waitKillable, newListener} {
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, flags, uintptr(unsafe.Pointer(&prog)))
		runtime.KeepAlive(filter)
		if errno == 0 {
			// Older kernels lack it, and are slower.
			_, _, _ = unix.Syscall(unix.SYS_IOCTL, fd, ioctlSetFlags, syncWakeUp)
			return int(fd), nil
		}
		if err = errno; !errors.Is(err, unix.EINVAL) { // else an older kernel
			break
		}
	}
	return -1, fmt.Errorf("tap fsync by seccomp (needs Linux 5.5): %w", err)
}

// program returns the filter. Its call numbers are those of the architecture for which this program
// was built. A process built for another architecture has other numbers, so its calls pass.
func program() []unix.SockFilter {
	calls := []uint32{unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_MSYNC, unix.SYS_SYNC_FILE_RANGE}
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}}
	for i, nr := range calls {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(calls) - i), K: nr})
	}
	return append(filter,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: retAllow},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: retNotify})
}

// serve handles the calls of a process until no process has the filter, or the tap ends.
func (t *Tap) serve(listener int) {
	defer unix.Close(listener)
	for {
		ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, int(endEvery.Milliseconds()))
		select {
		case <-t.end:
			return
		default:
		}
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return
		case err != nil || n == 0:
			continue
		case ready[0].Revents&unix.POLLIN == 0:
			return // POLLHUP: they have all ended
		}
		var got notification
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), ioctlReceive, uintptr(unsafe.Pointer(&got))); errno == 0 {
			t.got(&call{listener: listener, id: got.id})
		} // else the caller was killed meanwhile
	}
}

// answer makes the kernel carry out the call, or fail it.
func (c *call) answer(errno syscall.Errno) {
	r := response{id: c.id, flags: flagContinue}
	if errno != 0 {
		r.errno, r.flags = -int32(errno), 0
	}
	// It fails only if the caller has ended.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(c.listener), ioctlSend, uintptr(unsafe.Pointer(&r)))
}
