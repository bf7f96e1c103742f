//! What tests see of a pipeline.

use auto_mutex_seam::store::lock;

use super::Pipeline;

impl Pipeline {
    pub(crate) fn unwritten(&self) -> usize {
        let mut state = lock(&self.state);
        self.seal(&mut state);
        state.out.len()
    }
}
