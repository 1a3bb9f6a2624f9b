package sites

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestInstall(t *testing.T) {
	dir, err := Directory()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time finds what the first left
		got, err := Install(t.Context(), dir, "git-doc", "libglib2.0-doc")
		if errors.Is(err, ErrUnavailable) && os.Getenv("CI") == "" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, site := range got {
			if _, err := os.Stat(filepath.Join(site.Root, site.Home)); err != nil {
				t.Errorf("%s: no home page: %v", site.Name, err)
			}
		}
	}
}

func TestInstallUnknown(t *testing.T) {
	if _, err := Install(t.Context(), t.TempDir(), "no-such-site"); err == nil {
		t.Error("an unknown site was installed")
	}
}

func TestInstallWithoutApt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Install(t.Context(), t.TempDir(), "git-doc"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without apt-get: error %v, want ErrUnavailable", err)
	}
}

func TestInstallCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if _, err := Install(ctx, dir, "git-doc"); err == nil {
		t.Fatal("a canceled install succeeded")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("a canceled install left %v", left)
	}
}

// TestInstallAll fetches everything; make test-real-sites asks for it.
func TestInstallAll(t *testing.T) {
	if os.Getenv("FRESHET_ALL_SITES") == "" {
		t.Skip("FRESHET_ALL_SITES is not set")
	}
	dir, err := Directory()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Install(t.Context(), dir, Names()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, site := range got {
		if _, err := os.Stat(filepath.Join(site.Root, site.Home)); err != nil {
			t.Errorf("%s: no home page: %v", site.Name, err)
		}
	}
}
