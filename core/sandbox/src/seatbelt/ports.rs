//! Loopback ports of services that act for the person, closed even when nothing listens at the start.
//!
//! A service that is started later on one of these stays out of reach; one on another port does not, which is why the
//! network of a session on macOS is reported as partial.

/// A port and what answers there.
#[derive(Debug, PartialEq, Eq)]
pub struct KnownPort {
    /// The port.
    pub port: u16,
    /// What usually answers.
    pub service: &'static str,
}

const fn known(port: u16, service: &'static str) -> KnownPort {
    KnownPort { port, service }
}

/// All known ports, from their projects' documentation and IANA's registry.
#[rustfmt::skip]
pub static KNOWN_PORTS: &[KnownPort] = &[
    // Start programs, or act on the machine.
    known(22, "SSH"),
    known(2375, "Docker"),
    known(2376, "Docker"),
    known(2377, "Docker Swarm"),
    known(5037, "Android debug bridge"),
    known(5900, "screen sharing"),
    known(6443, "Kubernetes"),
    known(8001, "kubectl proxy"),
    known(10250, "Kubernetes node"),
    known(9222, "a browser's debugging port"),
    known(9223, "a browser's debugging port"),
    known(9229, "Node's debugging port"),
    known(5005, "Java's debugging port"),
    known(4444, "WebDriver"),
    known(8888, "Jupyter"),
    known(2019, "Caddy's administration"),
    known(8384, "Syncthing"),
    known(631, "printing"),
    known(445, "file sharing"),
    known(548, "file sharing"),
    // Hold data.
    known(1433, "SQL Server"),
    known(1521, "Oracle"),
    known(2379, "etcd"),
    known(3306, "MySQL"),
    known(33060, "MySQL"),
    known(5432, "PostgreSQL"),
    known(5672, "RabbitMQ"),
    known(15672, "RabbitMQ"),
    known(5984, "CouchDB"),
    known(6379, "Redis"),
    known(7474, "Neo4j"),
    known(7687, "Neo4j"),
    known(8086, "InfluxDB"),
    known(8123, "ClickHouse"),
    known(8200, "Vault"),
    known(8500, "Consul"),
    known(9000, "MinIO"),
    known(9042, "Cassandra"),
    known(9092, "Kafka"),
    known(9200, "Elasticsearch"),
    known(11211, "memcached"),
    known(27017, "MongoDB"),
    // Models.
    known(1234, "LM Studio"),
    known(11434, "Ollama"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_listed_twice() {
        let ports: std::collections::BTreeSet<_> =
            KNOWN_PORTS.iter().map(|known| known.port).collect();
        assert_eq!(ports.len(), KNOWN_PORTS.len());
    }
}
