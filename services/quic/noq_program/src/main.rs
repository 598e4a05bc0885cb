//! Transfers over QUIC with noq: a server, and a client that downloads, uploads or makes requests, and reports as JSON.
//!
//!     quic_noq server ADDRESS:PORT CERTIFICATE KEY CONGESTION PATHS
//!     quic_noq download|upload BYTES CERTIFICATE CONGESTION ADDRESS:PORT...
//!     quic_noq requests COUNT BYTES INTERVAL_US CERTIFICATE CONGESTION ADDRESS:PORT...
//!
//! The client connects to the first address, and opens a path to each of the others. It transfers over several streams
//! at once; a request has a stream of its own. A stream begins with a letter and a number: `d` asks for so many bytes, `u` announces some, `r` asks for
//! the server's report.

use std::error::Error;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use noq::rustls::RootCertStore;
use noq::udp::UdpSocketState;
use noq::{ClientConfig, Connection, Endpoint, PathError, PathId, PathStatus, ServerConfig, TransportConfig, VarInt};
use noq::{RecvStream, SendStream, congestion};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

static PIECE: [u8; 1 << 16] = [0; 1 << 16];
/// noq's receiver keeps 1024 gaps of a stream and ends the connection if there are more. Two paths take the packets in
/// turns, so if one is behind, every second packet can be a gap. In this window there are less than 1024 of them, even
/// between packets of 1200 bytes. Several streams have a window of their own each, enough for 1 Gbit/s and 100 ms.
const STREAM_WINDOW: u32 = 2 << 20;
const STREAMS: u64 = 8;
const RETRY: Duration = Duration::from_millis(5);
const MOST_RETRIES: u32 = 200;
const USAGE: &str = "quic_noq server ADDRESS:PORT CERTIFICATE KEY CONGESTION PATHS\n\
    quic_noq download|upload BYTES CERTIFICATE CONGESTION ADDRESS:PORT...\n\
    quic_noq requests COUNT BYTES INTERVAL_US CERTIFICATE CONGESTION ADDRESS:PORT...";

fn transport(algorithm: &str, paths: usize) -> Result<Arc<TransportConfig>> {
    let mut config = TransportConfig::default();
    config.stream_receive_window(STREAM_WINDOW.into()).send_window(STREAMS * u64::from(STREAM_WINDOW));
    match algorithm {
        "bbr3" => config.congestion_controller_factory(Arc::new(congestion::Bbr3Config::default())),
        "cubic" => config.congestion_controller_factory(Arc::new(congestion::CubicConfig::default())),
        "reno" => config.congestion_controller_factory(Arc::new(congestion::NewRenoConfig::default())),
        _ => return Err(format!("noq has no congestion control {algorithm}").into()),
    };
    if paths > 1 {
        config.max_concurrent_multipath_paths(u32::try_from(paths)?);
    }
    Ok(Arc::new(config))
}

/// What this end knows of a connection: counters of its paths as a sender, and what its sockets can do.
fn report(connection: &Connection) -> Result<Value> {
    let paths: Vec<Value> = (0..8u32)
        .filter_map(|number| connection.path(PathId::from(number)).map(|path| (path.id(), path)))
        .map(|(id, path)| {
            let stats = path.stats();
            let algorithm = connection.congestion_state(id).map(|state| format!("{state:?}"));
            json!({
                "remote": path.remote_address().ok().map(|address| address.to_string()),
                "congestion_control": algorithm.map(|text| text.split([' ', '{']).next().unwrap_or("").to_string()),
                "rtt_ms": stats.rtt.as_secs_f64() * 1e3,
                "sent_packets": stats.sent_packets,
                "lost_packets": stats.lost_packets,
                "mtu": stats.current_mtu,
            })
        })
        .collect();
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let offloads = UdpSocketState::new((&socket).into())?;
    Ok(json!({
        "multipath": connection.is_multipath_enabled(),
        "gso_segments": offloads.max_gso_segments(),
        "gro_segments": offloads.gro_segments(),
        "paths": paths,
    }))
}

async fn send(stream: &mut SendStream, bytes: u64) -> Result<()> {
    let mut left = bytes;
    while left > 0 {
        let size = left.min(PIECE.len() as u64) as usize;
        stream.write_all(&PIECE[..size]).await?;
        left -= size as u64;
    }
    Ok(stream.finish()?)
}

async fn count(stream: &mut RecvStream) -> Result<u64> {
    let mut bytes = 0;
    while let Some(chunk) = stream.read_chunk(usize::MAX).await? {
        bytes += chunk.len() as u64;
    }
    Ok(bytes)
}

async fn answer(connection: Connection, mut sending: SendStream, mut receiving: RecvStream) -> Result<()> {
    let mut request = [0; 9];
    receiving.read_exact(&mut request).await?;
    match request[0] {
        b'd' => send(&mut sending, u64::from_be_bytes(request[1..].try_into()?)).await?,
        b'u' => {
            let bytes = count(&mut receiving).await?;
            sending.write_all(&bytes.to_be_bytes()).await?;
            sending.finish()?;
        }
        _ => {
            sending.write_all(report(&connection)?.to_string().as_bytes()).await?;
            sending.finish()?;
        }
    }
    sending.stopped().await?; // until the client has it all
    Ok(())
}

async fn serve(words: &[String]) -> Result<()> {
    let [address, certificate, key, algorithm, paths] = words else { return Err(USAGE.into()) };
    let certificates = vec![CertificateDer::from_pem_file(certificate)?];
    let mut config = ServerConfig::with_single_cert(certificates, PrivateKeyDer::from_pem_file(key)?)?;
    config.transport_config(transport(algorithm, paths.parse()?)?);
    let endpoint = Endpoint::server(config, address.parse()?)?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let connection = incoming.await?;
            while let Ok((sending, receiving)) = connection.accept_bi().await {
                tokio::spawn(answer(connection.clone(), sending, receiving));
            }
            Ok::<(), Box<dyn Error + Send + Sync>>(())
        });
    }
    Ok(())
}

/// Opens a path; the server may not have sent what a path needs yet.
async fn join(connection: Connection, address: SocketAddr) -> Result<()> {
    for _ in 0..MOST_RETRIES {
        match connection.open_path(address, PathStatus::Available).await {
            Ok(_) => return Ok(()),
            Err(PathError::RemoteCidsExhausted | PathError::MaxPathIdReached) => tokio::time::sleep(RETRY).await,
            Err(error) => return Err(format!("path to {address}: {error}").into()),
        }
    }
    Err(format!("path to {address}: the server does not allow it").into())
}

async fn ask(connection: &Connection, letter: u8, number: u64) -> Result<(SendStream, RecvStream)> {
    let (mut sending, receiving) = connection.open_bi().await?;
    sending.write_all(&[letter]).await?;
    sending.write_all(&number.to_be_bytes()).await?;
    Ok((sending, receiving))
}

/// Downloads or uploads over one stream; returns the bytes that arrived.
async fn exchange(connection: Connection, is_upload: bool, bytes: u64) -> Result<u64> {
    let (mut sending, mut receiving) = ask(&connection, if is_upload { b'u' } else { b'd' }, bytes).await?;
    if !is_upload {
        return count(&mut receiving).await;
    }
    send(&mut sending, bytes).await?;
    let mut counted = [0; 8];
    receiving.read_exact(&mut counted).await?;
    Ok(u64::from_be_bytes(counted))
}

/// Transfers over several streams at once; returns the bytes that arrived.
async fn bulk(connection: &Connection, is_upload: bool, bytes: u64) -> Result<u64> {
    let parts: Vec<_> = (0..STREAMS)
        .map(|part| bytes * (part + 1) / STREAMS - bytes * part / STREAMS)
        .map(|part| tokio::spawn(exchange(connection.clone(), is_upload, part)))
        .collect();
    let mut arrived = 0;
    for part in parts {
        arrived += part.await??;
    }
    Ok(arrived)
}

async fn request(connection: Connection, bytes: u64, due: Instant) -> Result<(u64, f64)> {
    Ok((exchange(connection, false, bytes).await?, due.elapsed().as_secs_f64() * 1e3))
}

/// Makes requests: at an interval, or without one when the answer before is complete. Returns the bytes that arrived,
/// and how many ms each answer took.
async fn requests(connection: &Connection, count: u64, bytes: u64, interval: Duration) -> Result<(u64, Vec<f64>)> {
    let began = Instant::now();
    let (mut pending, mut answers) = (Vec::new(), Vec::new());
    for number in 0..count {
        if interval.is_zero() {
            answers.push(request(connection.clone(), bytes, Instant::now()).await?);
        } else {
            let due = began + interval * u32::try_from(number)?;
            tokio::time::sleep_until(due.into()).await;
            pending.push(tokio::spawn(request(connection.clone(), bytes, due)));
        }
    }
    for answer in pending {
        answers.push(answer.await??);
    }
    Ok((answers.iter().map(|(arrived, _)| arrived).sum(), answers.into_iter().map(|(_, ms)| ms).collect()))
}

async fn transfer(word: &str, words: &[String]) -> Result<()> {
    let (numbers, words) = words.split_at_checked(if word == "requests" { 3 } else { 1 }).ok_or(USAGE)?;
    let numbers = numbers.iter().map(|text| text.parse()).collect::<std::result::Result<Vec<u64>, _>>()?;
    let [certificate, algorithm, first, others @ ..] = words else { return Err(USAGE.into()) };
    let addresses = others.iter().map(|text| text.parse()).collect::<std::result::Result<Vec<SocketAddr>, _>>()?;
    let first: SocketAddr = first.parse()?;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate)?)?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport(algorithm, 1 + addresses.len())?);
    let endpoint = Endpoint::client(if first.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }.parse()?)?;
    endpoint.set_default_client_config(config);

    let began = Instant::now();
    let connection = endpoint.connect(first, "localhost")?.await?;
    let handshake = began.elapsed();
    let joining: Vec<_> = addresses.iter().map(|it| tokio::spawn(join(connection.clone(), *it))).collect();
    let (arrived, times) = match numbers[..] {
        [count, bytes, interval] => requests(&connection, count, bytes, Duration::from_micros(interval)).await?,
        _ => (bulk(&connection, word == "upload", numbers[0]).await?, Vec::new()),
    };
    let took = began.elapsed();
    let streams = if times.is_empty() { STREAMS } else { times.len() as u64 };
    for path in joining {
        if path.is_finished() {
            path.await??;
        }
    }
    let (_, mut receiving) = ask(&connection, b'r', 0).await?;
    let server: Value = serde_json::from_slice(&receiving.read_to_end(1 << 16).await?)?;
    let client = report(&connection)?;
    println!(
        "{}",
        json!({
            "bytes": arrived,
            "streams": streams,
            "times_ms": times,
            "seconds": took.as_secs_f64(),
            "handshake_s": handshake.as_secs_f64(),
            "client": client,
            "server": server,
        })
    );
    connection.close(VarInt::from_u32(0), b"done");
    endpoint.wait_idle().await;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("server") => serve(&words[1..]).await,
        Some(word @ ("download" | "upload" | "requests")) => transfer(word, &words[1..]).await,
        _ => Err(USAGE.into()),
    }
}
