#include <oarlock/data/mnist.h>

#include <unistd.h>

#include <cstdlib>

#include <oarlock/base/ops.h>
#include <oarlock/data/idx.h>

namespace oarlock::vision {
namespace {

std::string find_file(const std::string& folder, const std::string& name) {
  for (const char* end : {".gz", ""})
    if (std::string path = folder + "/" + name + end; ::access(path.c_str(), R_OK) == 0) return path;
  throw Error(Code::bad_data, "FashionMNIST: " + folder + " has no " + name +
                                  "[.gz]. Install Debian's package dataset-fashion-mnist, or name the folder.");
}
std::string folder_of(const std::string& folder) {
  if (!folder.empty()) return folder;
  const char* set = std::getenv("OARLOCK_FASHION_MNIST");
  return set && *set ? set : "/usr/share/datasets/fashion-mnist";
}
std::string part(Split split, const std::string& folder, const char* which) {
  return find_file(folder_of(folder), std::string(split == Split::train ? "train" : "t10k") + which);
}

}  // namespace

MNIST::MNIST(const std::string& images, const std::string& labels, TransformPtr transform) {
  Tensor x = data::read_idx(images), y = data::read_idx(labels);
  if (x.dtype() != DType::u8 || x.rank() != 3)
    throw Error(Code::bad_data, "MNIST: " + images + " is " + std::string(to_string(x.dtype())) + to_string(x.shape()) +
                                    ", expects images u8[N, H, W].");
  if (y.dtype() != DType::u8 || y.rank() != 1)
    throw Error(Code::bad_data, "MNIST: " + labels + " is " + std::string(to_string(y.dtype())) + to_string(y.shape()) +
                                    ", expects labels u8[N].");
  if (x.size(0) != y.size(0))
    throw Error(Code::bad_data, "MNIST: " + std::to_string(x.size(0)) + " images in " + images + ", " +
                                    std::to_string(y.size(0)) + " labels in " + labels +
                                    "; they don't belong together.");
  x = reshape(x, {x.size(0), 1, x.size(1), x.size(2)});
  all_ = std::make_shared<data::TensorDataset>(std::vector<Tensor>{x, cast(y, DType::i64)});
  if (transform) source_ = std::make_shared<data::TransformedDataset>(all_, std::move(transform));
  else source_ = all_;
}

FashionMNIST::FashionMNIST(Split split, TransformPtr transform, const std::string& folder)
    : MNIST(part(split, folder, "-images-idx3-ubyte"), part(split, folder, "-labels-idx1-ubyte"),
            std::move(transform)) {}

const char* FashionMNIST::class_name(int64_t label) {
  static const char* const names[] = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                      "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  if (label < 0 || label > 9)
    throw Error(Code::invalid_argument,
                "FashionMNIST: there is no class " + std::to_string(label) + "; there are 0..9.");
  return names[label];
}

}  // namespace oarlock::vision
