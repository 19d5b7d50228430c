package datatree

// Walker serialises a State.
type Walker struct{ at NodeID }

func (w *Walker) leave(s *State, id NodeID) {}
