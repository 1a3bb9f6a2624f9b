package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"

	"freshet/store"
	"freshet/store/warc"
	"freshet/weburl"
)

func exportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "export", Short: "Write what is stored for other tools", Args: noArgs,
		Long: "Copies the WARC files to a folder, writes a CDXJ index of them, the page table, a sitemap of what is live,\n" +
			"the graph of pages and links, for the lab, or a partition, whole, for another data directory to import.\n" +
			"Run it when no crawl is running in the directory.",
		Example: "  freshet export --warc copies/\n  freshet export --cdxj index.cdxj\n  freshet export --parquet pages.parquet\n" +
			"  freshet export --sitemap sitemap.xml --site https://example.org\n  freshet export --partition 3 --out part3",
	}
	data, crawl := directoryFlags(cmd)
	warcDir := cmd.Flags().String("warc", "", "folder to copy the WARC files to")
	cdxj := cmd.Flags().String("cdxj", "", "file to write a CDXJ index to, - for standard output")
	graphFile := cmd.Flags().String("graph", "", "file to write the graph of pages and links to, - for standard output")
	pages := cmd.Flags().String("parquet", "", "file to write the page table to, - for standard output")
	sitemap := cmd.Flags().String("sitemap", "", "sitemap of the live pages to write: a file FILE.xml, or a folder")
	site := cmd.Flags().String("site", "", "of the sitemap: only pages of this site, such as https://example.org")
	published := cmd.Flags().String("sitemap-url", "", "URL of the folder where the sitemaps will be; needed for more than 50,000 pages")
	partition := cmd.Flags().Int("partition", -1, "partition to write to --out")
	out := cmd.Flags().String("out", "-", "file to write the partition to, - for standard output")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *warcDir == "" && *cdxj == "" && *pages == "" && *sitemap == "" && *graphFile == "" && *partition < 0 {
			return usage(errors.New("nothing to export: give --warc, --cdxj, --parquet, --sitemap, --graph or --partition"))
		}
		s, err := patiently(cmd.Context(), *data, func() (*store.Store, error) {
			return openStore(*data, store.Options{Crawl: *crawl, ReadOnly: true})
		})
		if err != nil {
			return err
		}
		defer s.Close()
		files, err := s.Files()
		if err != nil {
			return err
		}
		if *warcDir != "" {
			if err := copyFiles(files, *warcDir); err != nil {
				return err
			}
		}
		for _, file := range []struct {
			name  string
			write func(io.Writer) error
		}{
			{*cdxj, func(w io.Writer) error { return writeCDXJ(w, files) }},
			{*pages, func(w io.Writer) error { return writeParquet(w, reader{store: s}) }},
			{*graphFile, func(w io.Writer) error { return writeGraph(w, s) }},
		} {
			if file.name == "" {
				continue
			}
			if err := writeTo(file.name, cmd.OutOrStdout(), file.write); err != nil {
				return err
			}
		}
		if *sitemap != "" {
			if err := writeSitemaps(s, *sitemap, *site, *published); err != nil {
				return err
			}
		}
		if *partition < 0 {
			return nil
		}
		if *partition >= s.Partitions() {
			return usage(fmt.Errorf("--partition %d: want 0 to %d", *partition, s.Partitions()-1))
		}
		return writeTo(*out, cmd.OutOrStdout(), func(w io.Writer) error { return s.ExportPartition(weburl.Partition(*partition), w) })
	}
	return cmd
}

// writeCDXJ indexes WARC files, sorting in a folder of its own.
func writeCDXJ(w io.Writer, files []string) error {
	temp, err := os.MkdirTemp("", "freshet-cdxj-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	return warc.Index(w, warc.IndexOptions{FS: vfs.Default, Temp: temp}, files...)
}

// copyFiles copies files into dir; a file that is there with the same size is left alone.
func copyFiles(files []string, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		target := filepath.Join(dir, filepath.Base(file))
		from, err := os.Stat(file)
		if err != nil {
			return err
		}
		if to, err := os.Stat(target); err == nil && to.Size() == from.Size() {
			continue
		}
		if err := copyFile(file, target); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	return writeFile(to, func(w io.Writer) error {
		_, err := io.Copy(w, source)
		return err
	})
}

// writeTo lets write fill a file, or standard output for "-".
func writeTo(file string, stdout io.Writer, write func(io.Writer) error) error {
	if file == "-" {
		return write(stdout)
	}
	return writeFile(file, write)
}

// besideFile returns where a command says what it did when it writes its result by writeTo: standard
// output, or standard error if the result goes there.
func besideFile(cmd *cobra.Command, file string) io.Writer {
	if file == "-" {
		return cmd.ErrOrStderr()
	}
	return cmd.OutOrStdout()
}

// writeFile lets write fill a file that appears under its name only when it is whole.
func writeFile(file string, write func(io.Writer) error) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			temp.Close()
			os.Remove(temp.Name())
		}
	}()
	buffered := bufio.NewWriterSize(temp, 1<<20)
	if err := write(buffered); err != nil {
		return err
	}
	if err := errors.Join(buffered.Flush(), temp.Chmod(0o644), temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}
