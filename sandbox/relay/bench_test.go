package relay

import (
	"io"
	"net"
	"testing"
)

// BenchmarkDown is a pull: bytes to the container.
func BenchmarkDown(b *testing.B) {
	p := start(b, server(b, func(c *net.TCPConn) {
		block := make([]byte, 64<<10)
		for {
			if _, err := c.Write(block); err != nil {
				return
			}
		}
	}), loopback)
	c := p.connect(b)
	b.SetBytes(1 << 20)
	for b.Loop() {
		if _, err := io.CopyN(io.Discard, c, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUp is a push: bytes from the container.
func BenchmarkUp(b *testing.B) {
	p := start(b, server(b, func(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) }), loopback)
	c := p.connect(b)
	block := make([]byte, 1<<20)
	b.SetBytes(1 << 20)
	for b.Loop() {
		if _, err := c.Write(block); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall is a connection, a question and its answer.
func BenchmarkCall(b *testing.B) {
	p := start(b, server(b, func(c *net.TCPConn) { _, _ = io.Copy(c, c) }), loopback)
	question := make([]byte, 512)
	for b.Loop() {
		c, err := net.Dial("tcp", p.addresses[0])
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Write(question); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, question); err != nil {
			b.Fatal(err)
		}
		_ = c.Close()
	}
}
