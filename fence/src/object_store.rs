//! [`FencedPut`]: objects that a stale holder can't replace.

use object_store::path::Path;
use object_store::{
    Attribute, Attributes, Error, GetOptions, ObjectStore, PutMode, PutOptions, PutPayload,
    PutResult, UpdateVersion,
};

use crate::{FenceError, FenceFuture, Resource, Token};

/// Letters only: what else may be in the name of a header or of metadata differs from store to store.
const METADATA: Attribute = Attribute::Metadata(std::borrow::Cow::Borrowed("automutexfence"));

/// Puts an object if no later holder of the lock has done so.
///
/// The token is in the object's metadata, as `automutexfence`, and the put is conditional: `If-Match` with the e-tag of
/// the object whose token was read, or `If-None-Match: *` for the first one. If another holder was faster, its token is
/// read and compared.
///
/// ```
/// use auto_mutex_fence::{Fence, FenceError, FencedPut};
/// use object_store::memory::InMemory;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = auto_mutex::Client::connect("memory://")?;
/// let store = InMemory::new();
///
/// let guard = client.mutex("report").lock().await?;
/// // Err(FenceError::Stale { .. }) if a later holder has written
/// guard.fence(FencedPut::new(&store, "report.json", "{}")).await?;
/// # Ok(()) }
/// ```
///
/// It works with Google Cloud Storage, Azure Blob Storage and `InMemory`, and with Amazon S3 and what is compatible
/// with it (with conditional puts, which are on by default). `LocalFileSystem` keeps no metadata:
/// [`FenceError::Unsupported`].
///
/// # S3
///
/// **On S3 the contents must include the fencing token**, in decimal digits, as with `format!(r#"{{"fence": {},
/// "total": 7}}"#, guard.fencing_token())`. An e-tag of S3 is a hash of the contents alone. If a later holder put the
/// bytes that are there already, the e-tag would stay the same, and an older put that has read it would succeed.
/// Without the token, replacing an object is [`FenceError::Invalid`], and likewise on any other store whose e-tags may
/// be hashes.
///
/// # The object
///
/// One lock protects an object, which all its writers put with a fence. An object without a token is older than all
/// tokens. Deleting an object deletes its token, so that a stale holder could put it: put an empty one.
#[derive(Debug)]
pub struct FencedPut<'a> {
    store: &'a dyn ObjectStore,
    path: Path,
    payload: PutPayload,
    /// What else the object has, such as its content type.
    pub attributes: Attributes,
}

impl<'a> FencedPut<'a> {
    /// Will put `payload` at `path`.
    pub fn new(
        store: &'a dyn ObjectStore,
        path: impl Into<Path>,
        payload: impl Into<PutPayload>,
    ) -> Self {
        Self {
            store,
            path: path.into(),
            payload: payload.into(),
            attributes: Attributes::new(),
        }
    }
}

impl<'a> Resource for FencedPut<'a> {
    type Output = FenceFuture<'a, PutResult>;

    fn check(mut self, tokens: Vec<Token>) -> Self::Output {
        Box::pin(async move {
            let [token] = &tokens[..] else {
                let reason = "an object has the token of one lock";
                return Err(FenceError::Invalid { reason });
            };
            let number = token.number().to_string();
            self.attributes.insert(METADATA, number.clone().into());
            let contents = self.payload.clone();
            let has_token = || {
                let contents: Vec<u8> = contents.iter().flatten().copied().collect();
                let mut parts = contents.windows(number.len());
                parts.any(|part| part == number.as_bytes())
            };
            loop {
                let head = GetOptions {
                    head: true,
                    ..Default::default()
                };
                let mode = match self.store.get_opts(&self.path, head).await {
                    Ok(found) => {
                        let newest = found.attributes.get(&METADATA);
                        let newest = newest.map_or(Ok(0), |newest| newest.parse());
                        let reason = "the metadata `automutexfence` of the object is no token";
                        token.compare(newest.map_err(|_| FenceError::Invalid { reason })?)?;
                        let (e_tag, version) = (found.meta.e_tag, found.meta.version);
                        if !is_of_one_put(&e_tag) && !is_of_one_put(&version) && !has_token() {
                            let reason = "the e-tags of this store may depend on the contents alone: include the \
                                fencing token in the contents, in decimal digits";
                            return Err(FenceError::Invalid { reason });
                        }
                        PutMode::Update(UpdateVersion { e_tag, version })
                    }
                    Err(Error::NotFound { .. }) => PutMode::Create,
                    Err(error) => return Err(error.into()),
                };
                let is_new = mode == PutMode::Create;
                let (payload, mut options) = (self.payload.clone(), PutOptions::from(mode));
                options.attributes = self.attributes.clone();
                let put = self.store.put_opts(&self.path, payload, options).await;
                match put {
                    // Another holder was faster.
                    Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {}
                    // So was one who deleted the object. If there was none, the bucket is missing.
                    Err(Error::NotFound { .. }) if !is_new => {}
                    put => return Ok(put?),
                }
            }
        })
    }
}

/// Whether each put gives the object another one, even with the same bytes: Google's generation is a number, Azure's
/// e-tag begins with `0x`, that of `InMemory` is a number. A hash such as S3's has 32 digits or more.
fn is_of_one_put(tag: &Option<String>) -> bool {
    let tag = tag.as_deref().unwrap_or("").trim_matches('"');
    tag.len() < 32 && (tag.starts_with("0x") || tag.parse::<u64>().is_ok())
}

impl From<Error> for FenceError {
    fn from(error: Error) -> Self {
        use Error::{NotImplemented, NotSupported};
        let is_unsupported = matches!(error, NotImplemented { .. } | NotSupported { .. });
        let source = error.into();
        match is_unsupported {
            true => Self::Unsupported { source },
            false => Self::Resource { source },
        }
    }
}
