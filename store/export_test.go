package store

import (
	"freshet/weburl"
)

// Distrust is how long the validators of a site that has lied are not trusted.
const Distrust = int64(distrust)

// Squat puts a page's row at the fingerprint of another page.
func (s *Store) Squat(p weburl.Partition, fp weburl.Fingerprint, page Page) error {
	s.state.batch = s.db.NewBatch()
	s.state.create(s.state.page(p, fp), page)
	if err := s.commitBatch(s.state, true); err != nil {
		return err
	}
	s.finish()
	return nil
}

// ApplyInVain applies fetches and commits nothing. Rows stay decoded.
func (s *Store) ApplyInVain(group []Fetch) error {
	for _, f := range group {
		s.stage(s.state, f.Record, capture{})
	}
	s.state.flush()
	err := s.state.batch.Close()
	s.state.batch = nil
	s.forgetApplied()
	s.state.moves = nil
	return err
}

// Renew forgets the decoded rows.
func (s *Store) Renew() { s.renew() }
