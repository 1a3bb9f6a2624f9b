//go:build linux

package machines

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// Machine is a process of this program with a network of its own, on a bridge with the others.
type Machine struct {
	Name   string
	Number int // of its address
	Args   []string
	Env    []string // in addition to this process's own
	Errors io.Writer
	Told   func(line []byte) // called with each line that it prints; may be nil

	cmd  *exec.Cmd
	gone chan struct{}
}

// Address returns the address of a machine.
func Address(number int) string { return fmt.Sprintf("10.99.0.%d", number) }

// Self is the number of the trial itself.
const Self = 254

// MakeBridge connects the machines, and the trial itself as number Self.
func MakeBridge() error {
	return sh("ip link set lo up", "ip link add br0 type bridge", fmt.Sprintf("ip addr add %s/24 dev br0", Address(Self)), "ip link set br0 up")
}

func sh(commands ...string) error {
	for _, c := range commands {
		words := strings.Fields(c)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", c, err, out)
		}
	}
	return nil
}

// Start starts the process.
func (m *Machine) Start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, append([]string{"-name", m.Name}, m.Args...)...)
	cmd.Env = append(os.Environ(), m.Env...)
	cmd.Stderr = m.Errors
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	m.cmd, m.gone = cmd, make(chan struct{})
	go func(gone chan struct{}) {
		m.read(out)
		_ = cmd.Wait()
		close(gone)
	}(m.gone)
	inside := fmt.Sprintf("nsenter --net=/proc/%d/ns/net ip ", cmd.Process.Pid)
	link := fmt.Sprintf("%s-%d", m.Name, cmd.Process.Pid) // the one of the last process may still be there
	return sh(
		fmt.Sprintf("ip link add %s type veth peer name eth0 address 02:00:00:00:00:%02x netns %d", link, m.Number, cmd.Process.Pid),
		"ip link set "+link+" master br0", "ip link set "+link+" up",
		inside+"link set lo up", inside+"addr add "+Address(m.Number)+"/24 dev eth0", inside+"link set eth0 up")
}

// read passes on the lines that the process prints.
func (m *Machine) read(out io.Reader) {
	var left []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := out.Read(buf)
		left = append(left, buf[:n]...)
		for {
			end := bytes.IndexByte(left, '\n')
			if end < 0 {
				break
			}
			if m.Told != nil {
				m.Told(left[:end])
			}
			left = left[end+1:]
		}
		if err != nil {
			return
		}
	}
}

// Kill ends the process like a crash, and waits until it is gone.
func (m *Machine) Kill() {
	m.Signal(syscall.SIGKILL)
	m.Wait()
}

// Wait waits until the process is gone.
func (m *Machine) Wait() {
	if m.gone != nil {
		<-m.gone
	}
}

// Gone returns a channel that is closed when the process is gone; nil before it was started.
func (m *Machine) Gone() <-chan struct{} { return m.gone }

// Runs reports whether the process is there.
func (m *Machine) Runs() bool {
	if m.gone == nil {
		return false
	}
	select {
	case <-m.gone:
		return false
	default:
		return true
	}
}

// Exit returns the exit code of a process that is gone.
func (m *Machine) Exit() int { return m.cmd.ProcessState.ExitCode() }

// Processor returns the time that a process that is gone has spent on processors.
func (m *Machine) Processor() time.Duration {
	return m.cmd.ProcessState.UserTime() + m.cmd.ProcessState.SystemTime()
}

// Spent returns the time that the running process itself has spent on processors so far, in steps of 10 ms.
func (m *Machine) Spent() (time.Duration, error) {
	proc, err := procfs.NewProc(m.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	stat, err := proc.Stat()
	return time.Duration(stat.CPUTime() * float64(time.Second)), err
}

// Signal sends the process a signal, unless it has ended.
func (m *Machine) Signal(s syscall.Signal) {
	if m.Runs() {
		_ = m.cmd.Process.Signal(s)
	}
}

// Cut drops what the machine sends to others.
func (m *Machine) Cut(others ...*Machine) error { return m.route("add", others) }

// Heal ends a cut. A machine that was restarted since has no cut.
func (m *Machine) Heal(others ...*Machine) error { return m.route("del", others) }

func (m *Machine) route(verb string, others []*Machine) error {
	for _, o := range others {
		err := sh(fmt.Sprintf("nsenter --net=/proc/%d/ns/net ip route %s blackhole %s/32", m.cmd.Process.Pid, verb, Address(o.Number)))
		if err != nil {
			return err
		}
	}
	return nil
}

// AwaitNetwork waits until the process's network has been set up.
func AwaitNetwork() {
	for range 100 {
		out, err := exec.Command("ip", "-o", "-4", "addr", "show", "dev", "eth0", "up").Output()
		if err == nil && len(out) > 0 {
			return
		}
		sleep(20 * time.Millisecond)
	}
}
