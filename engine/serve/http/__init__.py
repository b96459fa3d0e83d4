"""HTTP/1 by the rules of cpp-httplib, under the routes."""
