package main

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/dashboard/units"
	"freshet/objects"
	"freshet/store"
	"freshet/store/transfer"
)

// snapshotPath is the path of a request for a snapshot. Only the control socket accepts it, because the request names
// a folder of the machine.
const snapshotPath = "/snapshot"

// withSnapshots adds requests for snapshots of s to the handler of a running crawl.
func withSnapshots(s *store.Store, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if r.URL.Path != snapshotPath || local == nil || local.Network() != "unix" {
			next.ServeHTTP(w, r)
			return
		}
		if r.Method != http.MethodPost {
			http.Error(w, "want POST", http.StatusMethodNotAllowed)
			return
		}
		if to := r.FormValue("to"); to != toOutput {
			if err := transfer.Snapshot(r.Context(), s, to); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
			return
		}
		answer := &begun{Writer: w}
		if err := transfer.WriteSnapshot(r.Context(), s, answer); err != nil && !answer.is {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		} else if err != nil {
			panic(http.ErrAbortHandler) // break the connection, so that the client sees that it is incomplete
		}
	})
}

// toOutput is the name for standard output in place of a folder.
const toOutput = "-"

// begun records whether something was written.
type begun struct {
	io.Writer
	is bool
}

// Write implements io.Writer.
func (b *begun) Write(p []byte) (int, error) {
	b.is = true
	return b.Writer.Write(p)
}

// takeSnapshot makes a snapshot of a data directory in the new folder to, or writes it to out as a tar file. If a
// crawl runs in the directory, the crawl makes it. Only the process that has the directory open writes in it, so a
// killed command leaves nothing behind.
func takeSnapshot(ctx context.Context, data, to string, out io.Writer) (err error) {
	if err := checkDirectory(data); err != nil {
		return err
	}
	if objects.IsBucket(to) {
		return sendSnapshot(ctx, data, to)
	}
	if to != toOutput {
		if to, err = outside(data, to); err != nil {
			return err
		}
	}
	_, err = patiently(ctx, data, func() (struct{}, error) {
		if done, err := askSnapshot(ctx, data, to, out); done {
			return struct{}{}, err
		}
		s, err := openAlone(data, store.Options{})
		if err != nil {
			return struct{}{}, err
		}
		if to == toOutput {
			return struct{}{}, errors.Join(transfer.WriteSnapshot(ctx, s, out), s.Close())
		}
		return struct{}{}, errors.Join(transfer.Snapshot(ctx, s, to), s.Close())
	})
	return err
}

// sendSnapshot makes a snapshot of a data directory in a bucket.
func sendSnapshot(ctx context.Context, data, to string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out, in := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		err := uploadSnapshot(ctx, out, to)
		out.CloseWithError(err)
		sent <- err
	}()
	err := takeSnapshot(ctx, data, toOutput, in)
	in.CloseWithError(err)
	if uploading := <-sent; uploading != nil && (err == nil || errors.Is(err, uploading)) {
		return uploading
	}
	return err
}

// outside returns the absolute path of a new folder. It must not be in the data directory, where a purge would miss
// it.
func outside(data, to string) (string, error) {
	to, err1 := filepath.Abs(to)
	data, err2 := filepath.Abs(data)
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	within, err := filepath.Rel(data, to)
	if err == nil && filepath.IsLocal(within) {
		return "", fmt.Errorf("%s is inside the data directory, where a purge would not reach it: choose a folder outside of %s", to, data)
	}
	return to, nil
}

// askSnapshot asks a running crawl to make a snapshot, or to write one to out. done is false if none runs.
func askSnapshot(ctx context.Context, data, to string, out io.Writer) (done bool, err error) {
	socket := filepath.Join(data, socketName)
	conn, err := dialSocket(ctx, socket)
	if err != nil {
		return false, nil
	}
	conn.Close()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, socket) }}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://freshet"+snapshotPath, strings.NewReader(url.Values{"to": {to}}.Encode()))
	if err != nil {
		return true, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return true, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
		return true, errors.Join(errors.New(strings.TrimSpace(string(text))), err)
	}
	if _, err = io.Copy(out, response.Body); err != nil {
		err = fmt.Errorf("the snapshot was cut off, by the crawl's end or a purge: take it again: %w", err)
	}
	return true, err
}

func snapshotCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "snapshot DIR", Short: "Back up a data directory while a crawl runs in it", Args: command.OneArg("DIR"),
		Long: "Writes everything that is stored at this moment to the new folder DIR, to a bucket if DIR is s3://BUCKET/PREFIX, or\n" +
			"as a tar file to standard output if DIR is -. On the file system of the data directory it uses hard links, which take\n" +
			"almost no time or space. freshet restore turns it into a data directory again, as often as you like.",
		Example: "  freshet snapshot --data archive backups/monday\n  freshet snapshot --data archive - | zstd > monday.tar.zst",
	}
	data, _ := directoryFlags(cmd)
	account := accountOf(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := objects.Check(args[0]); err != nil {
			return command.Usage(err)
		}
		progress := startWorking(cmd.ErrOrStderr(), clock.Real(), "taking a snapshot of "+*data)
		err := takeSnapshot(cmd.Context(), *data, args[0], cmd.OutOrStdout())
		progress.stop()
		if err != nil || args[0] == toOutput {
			return err
		}
		fact := struct {
			Data     string `json:"data"`
			Snapshot string `json:"snapshot"`
			Size     *int64 `json:"size_bytes"` // null: it is in a bucket
		}{*data, args[0], sizeIfHere(args[0])}
		return account.give(nil, "", fact, fmt.Sprintf("saved a snapshot of %s to %s; freshet restore turns it into a data directory", *data, args[0]+sizeBehind(fact.Size)))
	}
	return cmd
}

func restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "restore SNAPSHOT", Short: "Restore a data directory from a snapshot", Args: command.OneArg("SNAPSHOT"),
		Long: "Makes the data directory --data, which must not exist yet, from the folder, tar file or s3://BUCKET/PREFIX that freshet\n" +
			"snapshot wrote; - reads a tar file from standard input. The tar file may be compressed with gzip. The snapshot does\n" +
			"not change.",
		Example: "  freshet restore --data archive backups/monday\n  zstd -dc monday.tar.zst | freshet restore --data archive -",
	}
	data, _ := directoryFlags(cmd)
	check(cmd.Flags(), onDisk, "data")
	account := accountOf(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		progress := startWorking(cmd.ErrOrStderr(), clock.Real(), "restoring "+*data)
		err := restore(cmd.Context(), args[0], filepath.Clean(*data), cmd.InOrStdin(), progress)
		progress.stop()
		if err != nil {
			return err
		}
		fact := struct {
			Data string `json:"data"`
			Size int64  `json:"size_bytes"`
		}{*data, sizeOf(*data)}
		return account.give(nil, "", fact, fmt.Sprintf("restored to %s, %s", *data, units.Bytes(fact.Size)))
	}
	return cmd
}

// restore makes a data directory of a snapshot: a folder, a tar file, or in for "-".
func restore(ctx context.Context, snapshot, to string, in io.Reader, progress *working) error {
	if info, err := os.Stat(snapshot); err == nil && info.IsDir() {
		return transfer.Restore(vfs.Default, snapshot, to)
	}
	source, name := in, standardInput
	if snapshot != "-" && !objects.IsBucket(snapshot) {
		f, err := os.Open(snapshot)
		if err != nil {
			return err
		}
		defer f.Close()
		source, name = f, snapshot
	}
	temp := to + ".snapshot.part" // there already if a restore was killed
	if err := errors.Join(os.RemoveAll(temp), os.Mkdir(temp, 0o755)); err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if objects.IsBucket(snapshot) {
		if err := downloadSnapshot(ctx, snapshot, temp); err != nil {
			return err
		}
	} else if err := untar(progress.counted(source), temp); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return transfer.Restore(vfs.Default, temp, to)
}

// torn returns the error of a file of that kind which cannot be read to its end.
func torn(kind string, err error) error {
	return fmt.Errorf("not a whole %s file: %w: use another copy of it", kind, err)
}

// untar unpacks an archive of plain files, which may be compressed with gzip, into a folder, and nowhere else.
func untar(in io.Reader, to string) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	content, err := unzipped(bufio.NewReader(in))
	if err != nil {
		return torn("gzip", err)
	}
	archive := tar.NewReader(content)
	for {
		head, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return torn("tar", err)
		}
		switch head.Typeflag {
		case tar.TypeDir:
			if err := root.Mkdir(filepath.Clean(head.Name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		case tar.TypeReg:
			if dir := filepath.Dir(head.Name); dir != "." {
				if err := root.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
					return err
				}
			}
			f, err := root.Create(head.Name)
			if err != nil {
				return err
			}
			if _, err := io.Copy(f, archive); err != nil {
				return errors.Join(torn("tar", err), f.Close())
			}
			if err := f.Close(); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s in the tar file is not a plain file", head.Name)
		}
	}
}

func migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "migrate", Short: "Convert a data directory of an older version", Args: command.NoArgs,
		Long:    "Rewrites the database if it has an older format. WARC files do not change. If the command is interrupted, the\ndatabase is intact in the old format or in the new one. Make a snapshot first if you may want to go back.",
		Example: "  freshet migrate --data archive",
	}
	data, _ := directoryFlags(cmd)
	account := accountOf(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkDirectory(*data); err != nil {
			return err
		}
		from, err := patiently(cmd.Context(), *data, func() (int, error) { return transfer.Migrate(vfs.Default, *data) })
		if err != nil {
			return err
		}
		words := fmt.Sprintf("converted format %d to %d", from, store.Format)
		if from == store.Format {
			words = fmt.Sprintf("format %d is the newest: nothing to do", from)
		}
		fact := struct {
			From int `json:"from_format"`
			To   int `json:"to_format"`
		}{from, store.Format}
		return account.give(nil, "", fact, words)
	}
	return cmd
}
