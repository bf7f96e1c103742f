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
/// The token is in the object's metadata, as `automutexfence`, and the put is conditional: `If-Match` with the e-tag of the
/// object whose token was read, or `If-None-Match: *` for the first one. If another holder was faster, its token is read and
/// compared.
///
/// ```
/// use auto_mutex_fence::{Fence, FenceError, FencedPut};
/// use object_store::memory::InMemory;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = auto_mutex::Client::connect("memory://")?;
/// let store = InMemory::new();
///
/// let guard = client.mutex("report").lock().await?;
/// guard.fence(FencedPut::new(&store, "report.json", "{}")).await?; // Err(FenceError::Stale { .. }) if a later holder has written
/// # Ok(()) }
/// ```
///
/// It works with Amazon S3 and what is compatible with it (with conditional puts, which are on by default), Google Cloud Storage,
/// Azure Blob Storage and `InMemory`. `LocalFileSystem` keeps no metadata: [`FenceError::Unsupported`].
///
/// One lock protects an object, which all its writers put with a fence. An object without a token is older than all tokens.
/// Deleting an object deletes its token, so that a stale holder could put it: put an empty one.
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
            let [(token, number)] = &crate::token::in_order(tokens)?[..] else {
                let reason = "an object has the token of one lock";
                return Err(FenceError::Invalid { reason });
            };
            self.attributes.insert(METADATA, number.to_string().into());
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
                        PutMode::Update(UpdateVersion { e_tag, version })
                    }
                    Err(Error::NotFound { .. }) => PutMode::Create,
                    Err(error) => return Err(error.into()),
                };
                let (payload, mut options) = (self.payload.clone(), PutOptions::from(mode));
                options.attributes = self.attributes.clone();
                let put = self.store.put_opts(&self.path, payload, options).await;
                let is_late = |error: &Error| {
                    use Error::{AlreadyExists, NotFound, Precondition};
                    matches!(
                        error,
                        AlreadyExists { .. } | NotFound { .. } | Precondition { .. }
                    )
                };
                // Another holder was faster.
                if put.as_ref().is_err_and(is_late) {
                    continue;
                }
                return Ok(put?);
            }
        })
    }
}

impl From<Error> for FenceError {
    fn from(error: Error) -> Self {
        use Error::{NotImplemented, NotSupported};
        match error {
            NotImplemented { .. } | NotSupported { .. } => Self::Unsupported {
                source: error.into(),
            },
            _ => Self::Resource {
                source: error.into(),
            },
        }
    }
}
