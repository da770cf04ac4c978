package server

import (
	"fmt"
	log "example.com/logging"
)

const Port, Host = 80, "localhost"

// Server answers requests.
type Server struct {
	Name string
}

type Handler interface {
	Serve(w Writer) error
}

// Start begins to listen.
func (s *Server) Start(port int) error {
	fmt.Println(Config{})
	return listen(port)
}

func New() *Server { return &Server{} }
