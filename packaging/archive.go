package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// entry is a file, or with a slash at the end of its name a folder, of something that is packed.
type entry struct {
	name string
	mode int64
	text []byte
	own  int // the owner's number
}

// tarOf packs entries as they come, all of one time.
func tarOf(entries []entry, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.text)), Uid: e.own, Gid: e.own, ModTime: at, Format: tar.FormatPAX, Typeflag: tar.TypeReg}
		if e.name[len(e.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.text); err != nil {
			return nil, err
		}
	}
	err := w.Close() // before what it has written is looked at
	return out.Bytes(), err
}

// zipped compresses; without a name and a time the same bytes make the same bytes.
func zipped(text []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// archive is what people unpack who have no package manager: the binary, the manual, completions, the unit and the licence.
func (r release) archive(system, arch, binary, shared string) error {
	name := "posthouse-" + r.version + "-" + system + "-" + arch
	entries := []entry{{name: name + "/", mode: 0o755}}
	add := func(path, as string, mode int64) error {
		text, err := os.ReadFile(path)
		entries = append(entries, entry{name: name + "/" + as, mode: mode, text: text})
		return err
	}
	if err := add(binary, filepath.Base(binary), 0o755); err != nil {
		return err
	}
	for _, file := range []string{"LICENSE", "README.md", "README.zh-CN.md"} {
		if err := add(filepath.Join(r.root, file), file, 0o644); err != nil {
			return err
		}
	}
	if system == "linux" {
		for _, file := range []string{"posthouse.service", "posthouse.yaml"} {
			if err := add(filepath.Join(r.root, "packaging", "files", file), file, 0o644); err != nil {
				return err
			}
		}
	}
	if system != "windows" {
		err := filepath.WalkDir(shared, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			as, err := filepath.Rel(shared, path)
			if err != nil {
				return err
			}
			return add(path, filepath.ToSlash(as), 0o644)
		})
		if err != nil {
			return err
		}
	}
	if system == "windows" {
		return r.zip(name, entries)
	}
	text, err := tarOf(entries, r.at)
	if err == nil {
		text, err = zipped(text)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name+".tar.gz"), text, 0o644)
}

func (r release) zip(name string, entries []entry) error {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		f, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: r.at})
		if err != nil {
			return err
		}
		if _, err := io.Copy(f, bytes.NewReader(e.text)); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name+".zip"), out.Bytes(), 0o644)
}
